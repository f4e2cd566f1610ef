"""The inputs and parameters of the job that measures a case."""

from ladder.records import record
from ladder.workflow import builds, data, stamps
from ladder.workflow.study_plan import case_of


class Measurement:
    """The inputs and parameters of `measure` for the cases of a StudyPlan with its Ceilings and its Builds."""

    def __init__(self, plan, ceilings, builds):
        self.plan = plan
        self.all_ceilings = ceilings
        self.builds = builds

    def stamp(self, wildcards):
        """The stamp of the case's code and protocol. Ends the run for a case that isn't in the plan."""
        return stamps.path_of(self.plan.planned_case(wildcards))

    def data(self, wildcards):
        """The data that the case reads."""
        return data.of_case(record_of(wildcards), case_of(wildcards))

    def reference(self, wildcards):
        """The file of the case's reference; [] if the reference is computed inside the job."""
        return data.reference_of(case_of(wildcards))

    def ceilings(self, wildcards):
        """The file of the ceilings with which the samples are compared; [] without one."""
        return data.ancient_if_exists(record_of(wildcards), self.all_ceilings.of_case(case_of(wildcards)))

    def binaries(self, wildcards):
        """The binaries of the case's kernels."""
        return self.builds.binaries_of(case_of(wildcards))

    def libraries(self, wildcards):
        """The libraries of the case's C sources."""
        return self.builds.libraries_of(case_of(wildcards))

    def compilation_note(self, wildcards):
        """The file that notes that Numba has compiled the case's functions; [] without such functions."""
        return data.ancient_if_exists(record_of(wildcards), builds.note_of(case_of(wildcards)))

    def protocol(self, wildcards):
        """The case's protocol as JSON."""
        return self.plan.protocols[case_of(wildcards).key]


def record_of(wildcards):
    """The path of a case's record."""
    return record.path_of(wildcards.machine, case_of(wildcards).key)


def slug(wildcards):
    """The slug of a case."""
    return case_of(wildcards).slug
