# The plan: the cases of this machine or cluster. Everything else follows from it.
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path


def interrupted(*_):
    """End on Ctrl-C before anything has begun, when Snakemake would print a traceback."""
    os.write(2, b"ladder: Interrupted while planning: nothing was begun.\n")
    os._exit(130)


# If Ctrl-C is ignored, as in a background job, it stays so; only the main thread may set a handler.
if (
    workflow.is_main_process
    and threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, interrupted)


from snakemake.io import is_flagged
from snakemake.persistence import MetadataRecord, PersistenceBase

from ladder.catalogue import sources, workloads
from ladder.errors import LadderError
from ladder.machine import revision, variables
from ladder.planning import configuration, plan, slurm, status, targets
from ladder.records import runs
from ladder.records.files import bring_to_now, require_writable_folders
from ladder.records.record import from_path
from ladder.records.record import path_of as record_path
from ladder.report.ceilings import is_ceiling


def stop(error):
    """End with a sentence only: a user's mistake needs no traceback."""
    sys.exit(f"ladder: {error}")


def or_exit(call, *arguments):
    """The result of a call; a user's mistake ends the run with a sentence."""
    try:
        return call(*arguments)
    except LadderError as error:
        stop(error)
    except OSError as error:
        stop(f"{error.filename} can't be read: {error.strerror}.")


# Whether the cases are for a cluster, by its profile: in a dry run nothing else tells.
ON_CLUSTER = "on_cluster" in (workflow.resource_settings.default_resources or ())

try:
    if not {"{", "}"}.isdisjoint(workflow.basedir):  # Snakemake takes them for wildcards in the paths of environments
        raise LadderError(f"{workflow.basedir} has a brace in its name, which Snakemake can't handle: rename it.")
    for path in workflow.configfiles if workflow.is_main_process else ():
        configuration.read(path)  # for runs without a profile, which has Snakemake use our loader
    configuration.merge(config, configuration.of_command_line(workflow.config_settings.config_args))
    CONFIG = configuration.validate(config)
    workloads.search_folders(CONFIG["variant_folders"])
    SITE = targets.site() if ON_CLUSTER else None
    # At most the cores that Snakemake may use.
    TARGETS = targets.of_cluster(SITE) if SITE else targets.here(CONFIG, workflow.cores)
    PLAN = plan.plan(CONFIG, TARGETS)
    PUBLISHED = plan.published(CONFIG["published"])
except LadderError as error:
    stop(error)
except OSError as error:
    stop(f"{error.filename} can't be used: {error.strerror}.")

FULL_PLAN = PLAN  # including cases that this run doesn't measure
if not CONFIG["measure"]:
    PLAN = plan.measured(PLAN)
if workflow.is_main_process:  # in a dry run too: Snakemake locks the folder for it
    or_exit(runs.clear_stale)
    or_exit(runs.drop_unsound, MetadataRecord.model_validate)
    or_exit(bring_to_now, "results")


@contextlib.contextmanager
def lock(persistence, snakemake_lock=PersistenceBase.lock):
    """Snakemake's lock of the working directory during a run; one that a killed run has left doesn't block it."""
    or_exit(runs.begin)
    if signal.getsignal(signal.SIGINT) is interrupted:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on Snakemake ends its jobs
    if not SITE and workflow.scheduling_settings:
        # With a limit on jobs started per second, Snakemake polls for startable jobs once per second for each job that
        # has ended: after 200 jobs this takes a fifth of a core, beside the timed case.
        workflow.scheduling_settings.max_jobs_per_timespan = None
    with runs.locked(lambda: snakemake_lock(persistence)):
        yield


if workflow.is_main_process:
    PersistenceBase.lock = lock

if SITE:
    # Jobs read these from their environment. As parameters of rules they would have everything measured again.
    os.environ |= {"LADDER_PRELUDE": SITE["prelude"], "LADDER_WRAPPER": SITE["wrapper"]}
    os.environ |= {"LADDER_UNSET": variables.unset_families()}
if workflow.is_main_process and CONFIG["measure"]:
    # Jobs would determine the same revision, and on a node without git they can't.
    SOURCE, REVISION_VARIABLES = revision.for_jobs()
    os.environ |= {"LADDER_COMMIT": revision.format(SOURCE)} if SITE else REVISION_VARIABLES

# The rules run in the environment of Snakemake itself, unless a software deployment method is set.
ENVIRONMENT = "../envs/ladder.yaml"
IS_DEPLOYED = bool(workflow.deployment_settings.deployment_method)
# As variables, since the project's path may have blanks, and in a command a moved folder would have everything measured
# again.
os.environ |= {"LADDER_PYTHON": sys.executable, "LADDER_CODE": f"{workflow.basedir}/src"}
# The process whose death ends the verbs of the rules.
os.environ |= {"LADDER_PARENT": str(os.getpid())}
PYTHON = 'env PYTHONPATH="$LADDER_CODE" python' if IS_DEPLOYED else '"$LADDER_PYTHON"'

# What a user has exported for Bash would affect every command: with noclobber a log can't be overwritten.
for name in ("BASH_ENV", "SHELLOPTS", "BASHOPTS", "CDPATH"):
    os.environ.pop(name, None)

EXPERIMENTS = list(CONFIG["experiments"])
# The machine that the paper is about comes first.
MACHINES = targets.labels(TARGETS)
MACHINE = MACHINES[0]


def require_cluster():
    """Before anything is submitted to a cluster: end the run if all jobs would fail, and cancel stray jobs."""
    cases = [case_of(job.wildcards) for job in workflow.dag.needrun_jobs() if job.rule.name == "measure"]
    if not cases or workflow.touch:
        return
    try:
        if not SITE and workflow.executor_plugin.name == "slurm":
            raise LadderError(
                "These cases are for this machine: for a cluster, add `on_cluster=1` to `--default-resources`."
            )
        if not SITE:
            return
        slurm.require_plain()
        used = [targets.target_of(TARGETS, case) for case in cases]
        slurm.require_accepted(SITE, targets.site_path(), [kind for kind in TARGETS if TARGETS[kind] in used])
        slurm.require_packages(cases)
        if stray := slurm.cancel_stray():
            print(f"ladder: cancelled the Slurm jobs of an earlier run: {', '.join(stray)}.", file=sys.stderr)
    except LadderError as error:
        stop(error)


def require_writable():
    """Before the first job: end the run if results can't be written, for which Snakemake prints a traceback."""
    if not workflow.touch:
        paths = [path for job in workflow.dag.needrun_jobs() for path in [*job.output, *job.log]]
        or_exit(require_writable_folders, paths)


# What this run is to measure; None if it measures nothing.
RUN = None


def write_status():
    """Before the first job: write what is to be measured, for `ladder status` and for the final summary."""
    global RUN
    if not CONFIG["measure"] or workflow.touch:
        return
    records = {str(job.output[0]) for job in workflow.dag.needrun_jobs() if job.rule.name == "measure"}
    RUN = or_exit(status.write, PLAN, records)


# Files for readers are marked by `update`: the old one stays while it is rebuilt, and is restored if that fails.
# Snakemake then gives it the date of its restoration and notes it as built from the newest inputs, so that it would never
# be rebuilt.
def age_restored():
    """After a run with errors: date the restored outputs of failed jobs before all of their inputs."""
    for job in workflow.dag.needrun_jobs():  # without those that succeeded
        dates = [os.stat(path).st_mtime for path in job.input if Path(path).exists()]
        for path in job.output:
            if dates and is_flagged(path, "update") and Path(path).exists():
                workflow.persistence.cleanup_metadata(path)
                os.utime(path, times=(min(dates) - 1,) * 2)


def print_summary():
    """After the last job: print what was measured, what failed and why, and how to continue."""
    if RUN:
        print(status.summary(RUN), end="", file=sys.stderr)
