"""The cases of the sensitivity analysis, which finds the smallest injected error that each check refuses."""

from ladder.catalogue import datasets, sources
from ladder.harness import sensitivity
from ladder.planning import plan


class Sensitivity:
    """The cases of a StudyPlan's sensitivity analysis that this machine can run."""

    def __init__(self, study_plan):
        cases, target = sensitivity.cases(study_plan.config["sensitivity"]), study_plan.targets["cpu"]
        self.cases = [case for case in cases if not plan.skip_reason(case, peers=True, target=target)]

    def data(self):
        """The files of the data that the cases read."""
        return sorted({path for case in self.cases for path in datasets.files_of(case.workload, case.sizes)})

    def keys(self):
        """The keys of the cases."""
        return [case.key for case in self.cases]

    def fingerprint(self, _):
        """The fingerprint of the analysis' code, including that of the cases' workloads and variants."""
        roots = {root for case in self.cases for root in sources.roots_of(case)}
        return sources.digest("ladder.verbs.sensitivity", "ladder.devices.host", *sorted(roots))
