"""What a run does before its first job and after its last one, and the lock that it holds meanwhile."""

import contextlib
import os
import sys
from pathlib import Path

from snakemake.io import is_flagged
from snakemake.logging import logger
from snakemake.persistence import MetadataRecord, PersistenceBase

from ladder.errors import LadderError
from ladder.planning import configuration, slurm, status, targets
from ladder.records import runs
from ladder.records.files import clamp_future_times, require_writable_folders
from ladder.workflow import interruption, totals
from ladder.workflow.mistakes import end_run_on_mistake
from ladder.workflow.study_plan import case_of, is_measurement


@end_run_on_mistake()
def tidy_up():
    """Remove or repair what a killed run has left and Snakemake would refuse.

    A dry run needs this too, because Snakemake locks the folder for it.
    """
    runs.remove_stale_locks()
    runs.remove_invalid_metadata(MetadataRecord.model_validate)
    clamp_future_times("results")


def replace_lock(workflow, is_on_cluster):
    """Hold Snakemake's lock of the working directory only while this run lives: a killed run doesn't block others."""
    lock_of_snakemake = PersistenceBase.lock

    @contextlib.contextmanager
    def lock(persistence):
        with end_run_on_mistake():
            runs.begin()
        interruption.leave_to_snakemake()
        if not is_on_cluster and workflow.scheduling_settings:
            # With a limit on jobs started per second, Snakemake polls for startable jobs once per second for each
            # finished job: after 200 jobs this takes a fifth of a core and would disturb the timed case.
            workflow.scheduling_settings.max_jobs_per_timespan = None
        with runs.hold_snakemake_lock(lambda: lock_of_snakemake(persistence)):
            yield

    PersistenceBase.lock = lock


def announce_jobs(announce):
    """Have `announce` called once Snakemake knows its jobs, when it enters its lock or, in a dry run, what replaces it.

    A dry run calls none of a workflow's handlers.
    """

    def announcing_lock(enter):
        @contextlib.contextmanager
        def lock(persistence):
            with enter(persistence):
                announce()
                yield

        return lock

    PersistenceBase.lock = announcing_lock(PersistenceBase.lock)
    PersistenceBase.lock_warn_only = announcing_lock(PersistenceBase.lock_warn_only)


class Run:
    """A run of a StudyPlan by Snakemake's workflow."""

    def __init__(self, plan, workflow):
        self.plan = plan
        self.workflow = workflow
        # The return value of `status.write`; None if nothing is measured.
        self.status = None

    def announce(self):
        """Once the jobs are known: print what a cluster would have to do."""
        if self.plan.site and self.plan.config["measure"] and self.workflow.dag is not None:
            jobs, max_jobs = list(self.workflow.dag.needrun_jobs()), self.workflow.resource_settings.nodes
            logger.info("\n".join(totals.summary(self.plan, jobs, max_jobs)))

    def start(self):
        """Before the first job: end the run if its jobs would fail, and write the cases to be measured."""
        if not self.workflow.touch:
            with end_run_on_mistake():
                self.require_writable()
                self.require_cluster()
                self.write_status()

    def end(self):
        """After the last job: print which cases were measured, which failed and why, and how to continue."""
        if self.status:
            print(status.summary(self.status), end="", file=sys.stderr)

    def fail(self):
        """After a run with errors: have restored outputs rebuilt by the next run, then as `end`."""
        self.backdate_restored_outputs()
        self.end()

    def measuring_jobs(self):
        """The jobs that measure a case."""
        return [job for job in self.workflow.dag.needrun_jobs() if is_measurement(job)]

    def require_writable(self):
        """Raise LadderError if results can't be written; Snakemake would print a traceback."""
        jobs = self.workflow.dag.needrun_jobs()
        require_writable_folders([path for job in jobs for path in [*job.output, *job.log]])

    def require_cluster(self):
        """Before submitting to a cluster: raise LadderError if all jobs would fail, cancel jobs of an earlier run."""
        site, targets_by_kind = self.plan.site, self.plan.targets
        cases = [case_of(job.wildcards) for job in self.measuring_jobs()]
        if not cases:
            return
        if not site and not self.workflow.local_exec:
            raise LadderError(
                "These cases are for this machine: for a cluster, add `on_cluster=1` to `--default-resources`."
            )
        if not site:
            return
        slurm.require_plain_path()
        slurm.require_packages(cases)
        if self.workflow.executor_plugin.name != "slurm":
            return
        slurm.refuse_arrays(self.workflow.executor_settings)
        used_targets = [self.plan.target_of(case) for case in cases]
        used_kinds = [kind for kind, target in targets_by_kind.items() if target in used_targets]
        slurm.require_accepted(site, targets.site_path(), used_kinds)
        complete = [path for path in self.plan.records(self.plan.experiments) if Path(path).exists()]
        if stray := slurm.cancel_stray_jobs():
            print(f"ladder: cancelled the Slurm jobs of an earlier run: {', '.join(stray)}.", file=sys.stderr)
        planned = {str(path) for job in self.measuring_jobs() for path in job.output}
        if lost := [path for path in sorted({*complete} - planned) if not Path(path).exists()]:
            raise LadderError(f"A job of an earlier run, which was cancelled, has deleted {lost[0]}: start again.")

    def write_status(self):
        """Write the cases to be measured, for `ladder status` and for the final summary."""
        if self.plan.config["measure"]:
            self.status = status.write(
                without_other_ceilings(self.plan), {str(job.output[0]) for job in self.measuring_jobs()}
            )

    def backdate_restored_outputs(self):
        """Make the restored outputs of failed jobs older than all of their inputs.

        Outputs marked by `update` are restored if their rebuild fails, so that readers always have a file. Snakemake
        dates a restored file at its restoration and notes the newest inputs as its own: it would never be rebuilt.
        """
        for job in self.workflow.dag.needrun_jobs():  # at the end, only jobs that failed or didn't start
            dates = [Path(path).stat().st_mtime for path in job.input if Path(path).exists()]
            for path in job.output:
                if dates and is_flagged(path, "update") and Path(path).exists():
                    self.workflow.persistence.cleanup_metadata(path)
                    os.utime(path, times=(min(dates) - 1,) * 2)


def without_other_ceilings(plan):
    """The cases of a StudyPlan without skipped ones of ceilings that the key `only` didn't name, but keeps."""
    only = plan.config["only"]
    return [
        item
        for item in plan.cases
        if not (only and item.skip_reason and configuration.is_ceiling(item.experiment) and item.experiment not in only)
    ]
