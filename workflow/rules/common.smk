# The plan: which cases there are on this machine. Everything else follows from it.
import json
import sys
from pathlib import Path

from ladder import configuration, locks, machine, plan, sources, workloads
from ladder.ceilings import is_ceiling
from ladder.record import path_of as record_path
from ladder.errors import LadderError


def stop(error):
    """End with the sentence alone: a mistake of the user's needs no traceback."""
    sys.exit(f"ladder: {error}")


try:
    CONFIG = configuration.checked(config)
    workloads.look_in(CONFIG["variant_folders"])
    MACHINE = machine.label() if CONFIG["machine"] == "auto" else CONFIG["machine"]
    # Cores that Snakemake may not use are not there.
    CORES = min(
        machine.cores() if CONFIG["cores"] == "auto" else CONFIG["cores"],
        workflow.cores or sys.maxsize,
    )
    GPUS = len(machine.gpus()) if CONFIG["gpus"] == "auto" else CONFIG["gpus"]
    LAUNCHER = machine.launcher(CONFIG["mpi"])
    PLAN = plan.plan(CONFIG, CORES, GPUS)
    PUBLISHED = plan.published(CONFIG["published"])
except LadderError as error:
    stop(error)

EVERYTHING = PLAN  # also what isn't measured this time
if not CONFIG["measure"]:
    PLAN = plan.measured(PLAN, MACHINE)
if workflow.is_main_process and not workflow.dryrun:
    locks.clear_stale()

# The rules run in the environment of Snakemake itself, unless it was told to make one for them.
ENVIRONMENT = "../envs/ladder.yaml"
OWN = not workflow.deployment_settings.deployment_method
PYTHON = sys.executable if OWN else f"env PYTHONPATH={workflow.basedir}/src python"

EXPERIMENTS = list(CONFIG["experiments"])


def tell_missing():
    """After a run that failed: which cases have no record, and how to go on."""
    keys = {one.case.key for one in PLAN if not one.left_out}
    missing = sorted(key for key in keys if not Path(record_path(MACHINE, key)).exists())
    print(f"ladder: {len(missing)} of {len(keys)} cases have no record:", file=sys.stderr)
    for key in missing:
        print(f"  {key} (results/logs/measure/{MACHINE}/{key}.log)", file=sys.stderr)
    print(
        "ladder: `snakemake` tries again; `snakemake --config measure=false` writes the paper without.", file=sys.stderr
    )
