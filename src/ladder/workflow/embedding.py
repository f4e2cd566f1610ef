"""The workflow as a module of another workflow, by Snakemake's `module` in a user's own Snakefile."""

from pathlib import Path

from ladder.errors import LadderError
from ladder.planning import configuration
from ladder.workflow.mistakes import end_run_on_mistake

# Paths of rules, one of each folder that a module could rename.
EXAMPLE_PATHS = ("results/table.csv", "results/records/x.json", "results/tables/x.csv", "results/figures/x.pdf")


def is_embedded(workflow):
    """Whether another workflow uses this one as a module; called while its rules are read."""
    return not workflow.modifier.is_main_snakefile()


@end_run_on_mistake()
def require_usable(workflow, root):
    """End the run if the project's folder `root` lacks files of the project, or if a module's prefix changes paths."""
    if not Path(root, "paper").is_dir():
        raise LadderError(
            f"{root} has no folder `paper`, which the workflow reads: clone the whole repository, and name "
            "workflow/Snakefile of the clone by its path."
        )
    renamed = {path: workflow.modifier.modify_path(path) for path in EXAMPLE_PATHS}
    for path, other in renamed.items():
        if other != path:
            raise LadderError(
                f"The module's prefix changes {path} to {other} in rules, but not in their commands: omit the prefix, "
                "and give the study a folder of its own by Snakemake's `--directory` or `workdir:`."
            )


@end_run_on_mistake("can't be used")
def merged_config(config, workflow, root):
    """Snakemake's configuration of the workflow in the folder `root`, before its defaults.

    For a module it is a copy in which the keys of `config` override the project's own configuration, as those of
    `--configfile` do otherwise. The command line's `--config` belongs to the user's workflow, and isn't read then. Ends
    the run at a user's mistake.
    """
    if is_embedded(workflow):
        if not isinstance(config, dict):
            raise LadderError(f"The module's config is {config!r}: give it a mapping of keys, as in config/README.md.")
        shipped = configuration.read(configuration.default_file(root))
        return configuration.merge(configuration.merge({}, shipped), config)
    if workflow.is_main_process:
        # Without our profile, Snakemake reads the files by its own loader, which doesn't check them.
        files = {path: configuration.read(path) for path in (configuration.default_file(root), *workflow.configfiles)}
        configuration.require_variants_to_drop(files)
    return configuration.merge(config, configuration.of_command_line(workflow.config_settings.config_args))
