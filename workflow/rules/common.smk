# The plan: which cases there are on this machine. Everything else follows from it.
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path


def interrupted(*_):
    """End for Ctrl-C while nothing has begun yet, where Snakemake would print where it was."""
    os.write(2, b"ladder: Interrupted while planning: nothing was begun.\n")
    os._exit(130)


# Where Ctrl-C is ignored, as in a background job, it stays so; only the main thread may say what it does.
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
from ladder.planning import configuration, places, plan, slurm, status
from ladder.records import runs
from ladder.records.files import bring_to_now, require_writable_folders
from ladder.records.record import from_path
from ladder.records.record import path_of as record_path
from ladder.report.ceilings import is_ceiling


def stop(error):
    """End with the sentence alone: a mistake of the user's needs no traceback."""
    sys.exit(f"ladder: {error}")


def said(call, *arguments):
    """What a call gives; a mistake of the user's that it finds ends the run by the sentence alone."""
    try:
        return call(*arguments)
    except LadderError as error:
        stop(error)
    except OSError as error:
        stop(f"{error.filename} can't be read: {error.strerror}.")


# Whether the cases are for a cluster. Its profile says so; in a dry run nothing else does.
ON_CLUSTER = "on_cluster" in (workflow.resource_settings.default_resources or ())

try:
    if not {"{", "}"}.isdisjoint(workflow.basedir):  # Snakemake takes them for wildcards in the paths of environments
        raise LadderError(f"{workflow.basedir} has a brace in its name, which Snakemake can't work with: rename it.")
    for path in workflow.configfiles if workflow.is_main_process else ():
        configuration.read(path)  # where no profile has Snakemake read them so
    configuration.merge(config, configuration.of_command_line(workflow.config_settings.config_args))
    CONFIG = configuration.checked(config)
    workloads.search_folders(CONFIG["variant_folders"])
    SITE = places.site() if ON_CLUSTER else None
    # No more cores than Snakemake may use.
    PLACES = places.of_cluster(SITE) if SITE else places.here(CONFIG, workflow.cores)
    PLAN = plan.plan(CONFIG, PLACES)
    PUBLISHED = plan.published(CONFIG["published"])
except LadderError as error:
    stop(error)
except OSError as error:
    stop(f"{error.filename} can't be used: {error.strerror}.")

EVERYTHING = PLAN  # also what isn't measured this time
if not CONFIG["measure"]:
    PLAN = plan.measured(PLAN)
if workflow.is_main_process:  # in a dry run too: Snakemake locks the folder for it
    said(runs.clear_stale)
    said(runs.drop_unsound, MetadataRecord.model_validate)
    said(bring_to_now, "results")


@contextlib.contextmanager
def locked(persistence, snakemakes=PersistenceBase.lock):
    """Snakemake's lock of the working directory, for a run: one that a killed run has left is in nobody's way."""
    said(runs.begin)
    if signal.getsignal(signal.SIGINT) is interrupted:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on Snakemake ends its jobs
    if not SITE and workflow.scheduling_settings:
        # With a limit to the jobs started in a second, Snakemake looks for jobs to start once more every second for each
        # job that has ended: after 200 jobs that takes a fifth of a core, beside what is timed.
        workflow.scheduling_settings.max_jobs_per_timespan = None
    with runs.locked(lambda: snakemakes(persistence)):
        yield


if workflow.is_main_process:
    PersistenceBase.lock = locked

if SITE:
    # Jobs find these in their environment. As parameters of rules they would have all measured anew when they change.
    os.environ |= {"LADDER_PRELUDE": SITE["prelude"], "LADDER_WRAPPER": SITE["wrapper"]}
    os.environ |= {"LADDER_UNSET": variables.unset_families()}
if workflow.is_main_process and CONFIG["measure"]:
    # Jobs need not look again where they would find the same, nor can they on a node without git.
    SOURCE, TOLD = revision.for_jobs()
    os.environ |= {"LADDER_COMMIT": revision.format(SOURCE)} if SITE else TOLD

# The rules run in the environment of Snakemake itself, unless it was told to make one for them.
ENVIRONMENT = "../envs/ladder.yaml"
OWN = not workflow.deployment_settings.deployment_method
# By variables, since the project's folder may have blanks in its name, and by its path in a command a moved folder would
# have all measured anew.
os.environ |= {"LADDER_PYTHON": sys.executable, "LADDER_CODE": f"{workflow.basedir}/src"}
# Whose death ends the verbs of the rules.
os.environ |= {"LADDER_PARENT": str(os.getpid())}
PYTHON = '"$LADDER_PYTHON"' if OWN else 'env PYTHONPATH="$LADDER_CODE" python'

# What a user has exported for Bash would change every rule's command: noclobber keeps a log from being written anew.
for name in ("BASH_ENV", "SHELLOPTS", "BASHOPTS", "CDPATH"):
    os.environ.pop(name, None)

EXPERIMENTS = list(CONFIG["experiments"])
# The machine that the paper speaks of comes first.
MACHINES = places.labels(PLACES)
MACHINE = MACHINES[0]


def require_cluster():
    """Before anything is submitted to a cluster: end the run for a fault that all jobs share, and cancel stray jobs."""
    due = [case_of(job.wildcards) for job in workflow.dag.needrun_jobs() if job.rule.name == "measure"]
    if not due or workflow.touch:
        return
    try:
        if not SITE and workflow.executor_plugin.name == "slurm":
            raise LadderError(
                "These cases are for this machine: `--default-resources` needs `on_cluster=1` among others."
            )
        if not SITE:
            return
        slurm.require_plain()
        used = [places.place_of(PLACES, case) for case in due]
        slurm.require_accepted(SITE, places.site_path(), [kind for kind in PLACES if PLACES[kind] in used])
        slurm.require_packages(due)
        if stray := slurm.cancel_stray():
            print(f"ladder: cancelled what an earlier run left in Slurm: {', '.join(stray)}.", file=sys.stderr)
    except LadderError as error:
        stop(error)


def require_writable():
    """Before the first job: end the run where results can't be written, of which Snakemake tells by a traceback."""
    if not workflow.touch:
        said(
            require_writable_folders, [path for job in workflow.dag.needrun_jobs() for path in [*job.output, *job.log]]
        )


# What this run is to measure; only a run that measures has it.
RUN = None


def note_run():
    """Before the first job: what there is to measure, for `ladder status` and for the summary in the end."""
    global RUN
    if not CONFIG["measure"] or workflow.touch:
        return
    due = {str(job.output[0]) for job in workflow.dag.needrun_jobs() if job.rule.name == "measure"}
    try:
        RUN = status.note(PLAN, due)
    except LadderError as error:
        stop(error)


# What somebody reads is marked by `update`: while it is made anew what was there stays, and where that fails it comes
# back. Snakemake then gives it the date of its return and notes it as made of the newest inputs, so that nobody would
# make it anew.
def age_restored():
    """After a run with errors: have what a failed job left as it was be older than whatever it is made of."""
    for job in workflow.dag.needrun_jobs():  # without those that ended well
        dates = [os.stat(path).st_mtime for path in job.input if Path(path).exists()]
        for path in job.output:
            if dates and is_flagged(path, "update") and Path(path).exists():
                workflow.persistence.cleanup_metadata(path)
                os.utime(path, times=(min(dates) - 1,) * 2)


def tell_run():
    """After the last job: what is measured, what failed and why, and how to go on."""
    if RUN:
        print(status.summary(RUN), end="", file=sys.stderr)
