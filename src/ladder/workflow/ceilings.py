"""The files of ceilings: one for each machine, with which samples are compared, and `roofs` of all machines."""

from ladder.planning.configuration import is_ceiling


def path_of(machine):
    """The file of a machine's ceilings."""
    return f"results/ceilings/{machine}.json"


class Ceilings:
    """The ceilings of a StudyPlan.

    `experiments` are the names of the ceiling experiments, and `files` the files of each machine's ceilings. `roofs` is
    a list with the file of all machines' ceilings, which text, tables and figures read; empty without any ceiling.
    """

    def __init__(self, plan):
        self.plan = plan
        items = [item for item in plan.cases if is_ceiling(item.experiment)]
        self.keys = {item.case.key for item in items}
        self.machines = {item.machine for item in items if not item.skip_reason}
        self.experiments = [name for name in plan.experiments if is_ceiling(name)]
        self.files = [path_of(label) for label in plan.machines if label in self.machines]
        self.roofs = ["results/roofs.json"] if self.experiments or plan.published else []

    def of_case(self, case):
        """The file of the ceilings with which a case's samples are compared; [] without one, or if it measures one."""
        label = self.plan.target_of(case).label
        return path_of(label) if case.key not in self.keys and label in self.machines else []

    def records(self, wildcards):
        """The records of a machine's ceiling experiments."""
        return self.plan.records(self.experiments, [wildcards.machine])
