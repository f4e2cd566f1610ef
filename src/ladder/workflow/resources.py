"""The cores, GPUs and Slurm resources of the jobs that run on nodes: measurements, and descriptions of machines."""

import json

from ladder.catalogue import traits
from ladder.planning import targets
from ladder.workflow.study_plan import case_of

# The jobs per GPU that profiles/ allow at a time; a job with this amount of the resource `card` has a GPU to itself.
JOBS_PER_GPU = 2


class JobResources:
    """The resources of the jobs of a StudyPlan; `case_of` gives the case of a job's wildcards, of several the largest.

    `measuring_resources` and `describing_resources` are those of the two kinds of jobs, {name: value or function of the
    wildcards}.
    """

    def __init__(self, plan, case_of=case_of):
        self.plan = plan
        self.case_of = case_of
        # One rank needs no launcher. An empty `mpi` also keeps Snakemake from choosing the cores of a Slurm step.
        self.measuring_resources = {"mpi": self.launcher}
        self.describing_resources = {}
        if plan.site:
            self.measuring_resources |= self.slurm_resources(self.target_of, self.shares_node) | {
                "tasks": self.ranks_of,
                "cpus_per_task": self.threads,
                "nodes": lambda wildcards: targets.nodes_of(self.target_of(wildcards), self.case_of(wildcards)),
                # GPUs per node: of a total number, Slurm may allocate more on a node than the node has ranks.
                "gres": lambda wildcards: targets.gres_of(self.target_of(wildcards), self.case_of(wildcards)),
                "tasks_per_gpu": 0,
            }
            # A job that describes a node gets the whole node.
            self.describing_resources = self.slurm_resources(self.target_of_label) | {
                "mpi": "",
                "nodes": 1,
                "cpus_per_task": lambda wildcards: self.target_of_label(wildcards).cores,
                "gres": lambda wildcards: all_gpus(self.target_of_label(wildcards)),
                "tasks_per_gpu": 0,
            }
        else:
            # On this machine one job is timed at a time, or one per GPU.
            self.measuring_resources |= {
                "timing": lambda wildcards: 0 if self.is_on_gpu(wildcards) or self.shares_machine(wildcards) else 1,
                "card": lambda wildcards: traits.gpus(self.case_of(wildcards)),
            }

    def target_of(self, wildcards):
        """The Target of a measurement."""
        return self.plan.target_of(self.case_of(wildcards))

    def target_of_label(self, wildcards):
        """The Target of a job that describes a machine."""
        return self.plan.target_of_label(wildcards.machine)

    def launcher(self, wildcards):
        """The launcher of a case's ranks; empty for one rank."""
        return self.target_of(wildcards).launcher if self.ranks_of(wildcards) > 1 else ""

    def threads(self, wildcards):
        """The cores of a job.

        On this machine 1 for a case on its GPU, half for one that shares the machine, else all. On a cluster those of
        one of several ranks, the GPU's part of a shared node, else all of the node.
        """
        case = self.case_of(wildcards)
        if self.plan.site and case.ranks > 1:
            return case.threads
        if self.plan.site and self.shares_node(wildcards):
            return self.target_of(wildcards).cores // self.target_of(wildcards).gpus
        if self.is_on_gpu(wildcards) and not self.plan.site:
            return 1
        cores = self.plan.target_of(case).cores
        return -(-cores // 2) if self.shares_machine(wildcards) else cores

    def granted_cores(self, wildcards, threads):
        """The cores granted to a job; `threads` is Snakemake's number, which is wrong on a cluster.

        A job that shares this machine may use all of its cores.
        """
        if self.plan.site:
            return self.threads(wildcards) * self.ranks_of(wildcards)
        return self.target_of(wildcards).cores if self.shares_machine(wildcards) else threads

    def shares_machine(self, wildcards):
        """Whether a case is timed beside other jobs of this machine, by its protocol."""
        return not self.plan.site and json.loads(self.plan.protocols[self.case_of(wildcards).key])["share_machine"]

    def shares_node(self, wildcards):
        """Whether a job leaves the other GPUs of its node to others."""
        return targets.shares_node(self.target_of(wildcards), self.case_of(wildcards))

    def ranks_of(self, wildcards):
        """The number of a case's ranks."""
        return self.case_of(wildcards).ranks

    def is_on_gpu(self, wildcards):
        """Whether a case's arrays are on a GPU."""
        return traits.device(self.case_of(wildcards)) == "cuda"

    def slurm_resources(self, target_of, shares_node=lambda wildcards: False):
        """The Slurm resources of a job; functions of the wildcards give its Target and whether it shares its node."""

        def resources_of(wildcards):
            target = target_of(wildcards)
            return targets.resources_of_one_gpu(target) if shares_node(wildcards) else target.slurm_resources

        def resource(name):
            return lambda wildcards: resources_of(wildcards).get(name)

        def runtime(wildcards, attempt):
            """Minutes, more with every attempt."""
            return attempt * target_of(wildcards).slurm_resources["runtime"]

        def kind(wildcards):
            target = target_of(wildcards)
            return next(kind for kind, other in self.plan.targets.items() if other is target)

        names = {name for target in self.plan.targets.values() for name in target.slurm_resources}
        return {name: resource(name) for name in sorted(names)} | {"runtime": runtime, "kind": kind}


class BlockResources(JobResources):
    """The resources of the jobs of Claims that measure a block of cases in turns.

    On a cluster they are those of the block's largest case. On this machine nothing runs beside a block, because its
    cases may be on the host and on GPUs; but blocks `side_by_side` have a GPU each, and its part of the cores.
    """

    def __init__(self, plan, claims):
        self.claims = claims
        super().__init__(plan, claims.largest_case)
        if not plan.site:
            self.measuring_resources |= {
                "timing": lambda wildcards: 0 if self.is_side_by_side(wildcards) else 1,
                "card": lambda wildcards: JOBS_PER_GPU if self.is_side_by_side(wildcards) else 0,
            }

    def is_side_by_side(self, wildcards):
        """Whether a block leaves the other GPUs to others: by its protocol, if all of its cases are on one GPU."""
        items = self.claims.items(wildcards)
        return all(item.protocol["side_by_side"] and traits.device(item.case) == "cuda" for item in items)

    def shares_node(self, wildcards):
        """A block has its nodes to itself, since its cases may differ in what they need."""
        return False

    def shares_machine(self, wildcards):
        """A block has the machine to itself."""
        return False

    def threads(self, wildcards):
        """The cores of a job: on this machine all of them, or a GPU's part."""
        if self.plan.site:
            return super().threads(wildcards)
        target = self.plan.targets["cpu"]
        return max(1, target.cores // target.gpus) if self.is_side_by_side(wildcards) else target.cores

    def launcher(self, wildcards):
        """The launcher of the block's cases on several ranks; empty without any."""
        cases = self.claims.cases(wildcards)
        return next((self.plan.target_of(case).launcher for case in cases if case.ranks > 1), "")


def all_gpus(target):
    """All GPUs of a node, in the form of Slurm's option `--gres`."""
    return targets.gres(target.model, target.gpus)
