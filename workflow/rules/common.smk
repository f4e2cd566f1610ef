# The plan: which cases there are on this machine. Everything else follows from it.
import json
import os
import sys
from pathlib import Path

from ladder import configuration, machine, plan, sources, workloads
from ladder.ceilings import is_ceiling
from ladder.collect import record_path
from ladder.errors import LadderError


def stop(error):
    """End with the sentence alone: a mistake of the user's needs no traceback."""
    sys.exit(f"ladder: {error}")


try:
    CONFIG = configuration.checked(config)
    os.environ["LADDER_VARIANTS"] = ":".join(str(Path(folder).resolve()) for folder in CONFIG["variant_folders"])
    MACHINE = machine.label() if CONFIG["machine"] == "auto" else CONFIG["machine"]
    # Cores that Snakemake may not use are not there.
    CORES = min(
        machine.cores() if CONFIG["cores"] == "auto" else CONFIG["cores"],
        workflow.cores or sys.maxsize,
    )
    PLAN = plan.plan(CONFIG, CORES)
except LadderError as error:
    stop(error)

EXPERIMENTS = list(CONFIG["experiments"])
PUBLISHED = plan.published(CONFIG["published"])


def records_of(experiments):
    """The records of the experiments' cases that run here; without measuring, those that are there already."""
    keys = plan.shuffled(
        {one.case.key for one in PLAN if one.experiment in experiments and not one.left_out}
    )
    paths = [record_path(MACHINE, key) for key in keys]
    return paths if CONFIG["measure"] else [path for path in paths if Path(path).exists()]


def ladder(verb):
    """The command line of a verb, replacing its shell, so that a killed run takes the command with it."""
    return f"exec {sys.executable} -m ladder {verb} "
