"""Checks of what a user requests: an unknown target or name ends the run, with a sentence that suggests a known one."""

import os
import re
import sys

from ladder.catalogue import locations
from ladder.errors import LadderError, did_you_mean, enumerate_words
from ladder.planning import configuration, yaml_files
from ladder.report import chapter_data, unmeasured_sources
from ladder.workflow.mistakes import end_run_on_mistake

# The paths that name an experiment, and those of figures.
EXPERIMENT = re.compile(r"results/(?:tables|plans)/([^/.]+)")
FIGURE = re.compile(r"results/figures/([^/]+)\.\w+")
SHIPPED_CLAIMS = "config/claims.yaml"


@end_run_on_mistake()
def require_chapters(experiments):
    """End the run for an unknown name in a chapter of the user's; `experiments` are the configuration's.

    Sources of which nothing will be measured are only printed, because another configuration may have toy sizes.
    """
    chapter_data.require_user_chapters(experiments)
    for sentence in unmeasured_sources.sentences(experiments):
        print(f"ladder: {sentence}", file=sys.stderr)


@end_run_on_mistake()
def require_claims(claims, experiments):
    """End the run for a mistake in the files of a Claims; `experiments` are the names that the configuration has.

    The names of the shipped study are known, too: a configuration with other experiments keeps its claims.
    """
    if claims.study.config["claims"] == [SHIPPED_CLAIMS]:  # which the tests check
        return
    known = {*experiments, *yaml_files.read(configuration.PROJECT / configuration.DEFAULT_FILE)["experiments"]}
    for name in claims.plan.config["experiments"]:
        if name not in known:
            files = enumerate_words(claims.study.config["claims"])
            raise LadderError(
                f"The experiment {name!r} of the claims ({files}) is not in the configuration, so no source of a "
                f"chapter can read it: give it the name of an experiment there.{did_you_mean(name, known)}"
            )


def check_targets(workflow, experiments, figures):
    """Have `require_known_targets` called before Snakemake looks for the rules of its targets.

    It reads the targets after the Snakefile, and reports an unknown one only as a file that no rule makes.
    """
    build = workflow._build_dag

    def check_and_build():
        require_known_targets(workflow, experiments, figures)
        report_misspelt_experiments(experiments, figures)
        build()

    workflow._build_dag = check_and_build


@end_run_on_mistake()
def require_known_targets(workflow, experiments, figures):
    """End the run for a target that no rule makes; `experiments` are their names, `figures` a Figures."""
    for target in sorted(workflow.dag_settings.targets):
        path = os.path.relpath(target)
        is_known = workflow.is_rule(target) or any(rule.is_producer(path) for rule in workflow.rules)
        if not is_known and not os.path.exists(path):  # noqa: PTH110, Path.exists raises for 3,000 characters
            raise LadderError(reason(path, workflow, experiments, figures))


def reason(path, workflow, experiments, figures):
    """Why no rule makes a path, as a sentence."""
    if match := FIGURE.fullmatch(path):
        return figure_reason(match[1], experiments, figures)
    if match := EXPERIMENT.match(path):
        return f"The configuration has no experiment {match[1]}.{did_you_mean(match[1], experiments)}"
    rules = [rule for rule in workflow.rules if not rule.has_wildcards()]
    files = [str(file) for rule in rules for file in (*rule.input, *rule.output) if isinstance(file, str)]
    return f"Nothing makes {path}.{did_you_mean(path, [*(rule.name for rule in rules), *files])}"


def figure_reason(name, experiments, figures):
    """Why a figure isn't drawn."""
    if name not in figures.constants:
        return f"There is no figure {name}.{did_you_mean(name, figures.constants)}"
    if missing := missing_experiments(name, experiments, figures):
        hints = "".join(did_you_mean(experiment, experiments) for experiment in missing)
        return (
            f"The figure {name} can't be drawn: EXPERIMENTS in {figures.paths[name]} names {enumerate_words(missing)}, "
            f"which the configuration lacks.{hints}"
        )
    return f"{name} is not a figure of this run: it shows data or artefacts that this run doesn't make."


def missing_experiments(name, experiments, figures):
    """The experiments that a figure requires and the configuration lacks."""
    return [experiment for experiment in figures.constants[name]["EXPERIMENTS"] if experiment not in experiments]


def report_misspelt_experiments(experiments, figures):
    """Print which of a user's figures aren't drawn because they require an experiment whose name is misspelt.

    Snakemake's logger would omit it with `-q all`.
    """
    for name in figures.constants:
        missing = missing_experiments(name, experiments, figures)
        if not figures.paths[name].is_relative_to(locations.WORKLOADS) and any(
            did_you_mean(experiment, experiments) for experiment in missing
        ):
            print(f"ladder: {figure_reason(name, experiments, figures)}", file=sys.stderr)
