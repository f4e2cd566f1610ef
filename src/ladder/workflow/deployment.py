"""Snakemake's option `--sdm`: whether jobs run in environments of conda, in a container, or in that of Snakemake."""

import os
import shutil
from pathlib import Path

from ladder.catalogue import locations
from ladder.errors import LadderError

RUNTIMES = ("apptainer", "singularity")  # those that Snakemake can call, in its order
# What these mount besides the working directory.
BIND_VARIABLES = ("APPTAINER_BIND", "SINGULARITY_BIND")


def methods(workflow):
    """The names of the option's methods, sorted."""
    return sorted(str(method) for method in workflow.deployment_settings.deployment_method)


def image(workflow, config):
    """The image of the container in which jobs run; None if they run in none."""
    return config["container"] if "apptainer" in methods(workflow) else None


def require_usable(workflow, config):
    """Raise LadderError for an option under which jobs would lack their packages."""
    names = methods(workflow)
    if "env-modules" in names:
        raise LadderError(
            "`--sdm env-modules` can't be used, because no rule names modules: on a cluster, load them by the key "
            "`prelude` of its description (docs/how-to/cluster.md)."
        )
    if "apptainer" not in names:
        return
    if "conda" in names:
        raise LadderError("`--sdm conda apptainer` can't be used: the container has all packages, so omit `conda`.")
    if not config["container"]:
        raise LadderError(
            "`--sdm apptainer` requires an image: build one from workflow/envs/Containerfile, and name it by the "
            "configuration's key `container` (config/README.md)."
        )
    if workflow.is_main_process:
        require_image(config["container"])


def require_image(name):
    """Raise LadderError without a runtime for an image of this name, or for a file that doesn't exist."""
    if not any(map(shutil.which, RUNTIMES)):
        raise LadderError(
            "`--sdm apptainer` requires the program apptainer or singularity, and neither is installed: install one, "
            "or omit the option, so that jobs run in the environment of Snakemake."
        )
    if "://" not in name and not Path(name).exists():
        raise LadderError(f"The image {name}, which the key `container` names, doesn't exist: build it, or correct it.")


def bind_folders(root):
    """Have containers mount the project's folder `root` and the users' folders of variants."""
    folders = [str(root), *map(str, locations.roots()[1:])]
    for name in BIND_VARIABLES:
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), *folders]))
