"""The files that are compiled ahead of measurements: CUDA binaries, libraries of C sources, and Numba's functions."""

import functools
from pathlib import Path

from ladder.build import binaries, compilation, libraries
from ladder.machine import nvidia
from ladder.records import record
from ladder.workflow.mistakes import end_run_on_mistake


class Builds:
    """The builds of a StudyPlan.

    Kernels are built for `architectures`: those of the configuration and, without a cluster, that of this machine's
    first GPU. Measurements require the binaries for `measured_architectures`.
    """

    def __init__(self, plan):
        self.plan = plan
        gpus = [] if plan.site else nvidia.gpus()[:1]
        local = [f"sm_{gpu['capability'].replace('.', '')}" for gpu in gpus]
        self.architectures = sorted({*plan.config["architectures"], *local})
        self.measured_architectures = self.architectures if plan.site else local

    @functools.cached_property
    def binaries(self):
        """The binaries of all cases, including those that this run doesn't measure, for all architectures."""
        cases = [item.case for item in self.plan.every_case]
        return sorted({path for case in cases for path in binaries_of(case, self.architectures)})

    @functools.cached_property
    def reports(self):
        """The reports of these binaries; without measuring only those that exist, so that none is built."""
        paths = [str(Path(path).with_suffix(".json")) for path in self.binaries]
        return [path for path in paths if self.plan.config["measure"] or Path(path).exists()]

    def binaries_of(self, case):
        """The binaries that the measurement of a case requires."""
        return binaries_of(case, self.measured_architectures)

    def libraries_of(self, case):
        """The libraries of C sources that a case needs; none where jobs may have another compiler, and compile them."""
        needed = [] if self.plan.site or self.plan.image else sorted(libraries.of_case(case))
        return [str(libraries.path_of(*library)) for library in needed]


def binaries_of(case, architectures):
    """The binaries that a case needs on these architectures."""
    kernels = sorted(binaries.of_case(case))
    return [str(binaries.path_of(architecture, *kernel)) for architecture in architectures for kernel in kernels]


def note_of(case):
    """The file, or [], that notes that Numba has compiled the functions of a case."""
    return (
        f"results/compiled/{record.escape_commas(compilation.note_name(case))}" if compilation.is_needed(case) else []
    )


def slug_of_note(wildcards):
    """The slug of the case of a note's path."""
    return record.restore_commas(wildcards.case)


@end_run_on_mistake()
def kernel_fingerprint(wildcards):
    """The fingerprint of the sources of a kernel."""
    return binaries.fingerprint(wildcards.workload, wildcards.variant)


@end_run_on_mistake()
def library_fingerprint(wildcards):
    """The fingerprint of the sources of a library."""
    return libraries.fingerprint(wildcards.workload, wildcards.variant)
