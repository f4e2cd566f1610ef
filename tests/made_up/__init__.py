"""Studies with times made up by rule, so that what should be told of them is known beforehand.

What was measured is data, Measurements (`chapters.py` has those of all chapters), of which `study` makes tables.
"""

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ladder.catalogue.workloads import constants, load, precision
from ladder.harness.sensitivity import ELEMENT, ROW
from ladder.harness.sensitivity import cases as sensitivity_cases
from ladder.records.case import Case
from ladder.store import collect, stored
from ladder.store.study import Study

MACHINE = "a-machine-with-quite-a-long-name-24c"


@dataclass(frozen=True)
class Measurement:
    """A case of an experiment with the seconds of a call, and what else its processes tell.

    `phases` are seconds by name, `columns` further ones of the samples, `curve` the points of a learning curve of the
    first process, `checks` (error, bound) by name; `facts` are those of a run, which its cost may depend on.
    """

    experiment: str
    case: Case
    seconds: float
    phases: dict = field(default_factory=dict)
    facts: dict | None = None
    columns: dict = field(default_factory=dict)
    curve: tuple = ()
    checks: dict = field(default_factory=dict)

    def times(self, factor):
        """The same, so many times as long."""
        phases = {name: factor * seconds for name, seconds in self.phases.items()}
        return replace(self, seconds=factor * self.seconds, phases=phases)

    def rows(self, machine, processes=6, samples=2):
        """The rows of every table, {table: rows}; the times of processes lie closely around the seconds."""
        case, shape = self.case, (processes, samples)
        cost = load(case.workload).cost(case.sizes, *([self.facts] if self.facts else []))
        own = {"machine": machine, "experiment": self.experiment, "workload": case.workload, "variant": case.variant}
        own |= {"case": case.slug, "cache": case.cache} | case.sizes | case.tuning
        own |= {"device": constants(case.workload, case.variant)["DEVICE"], "converged": True} | vars(cost)
        own |= {"precision": precision(case), "threads_found": case.threads} | (self.facts or {}) | self.columns
        noise = np.exp(np.random.default_rng(len(case.slug)).normal(0, 0.002, shape))
        calls = [(own | {"process": i, "sample": j}, noise[i, j]) for i, j in itertools.product(*map(range, shape))]
        times = {"total": self.seconds} | self.phases
        return {
            "samples": [
                row | {"phase": name, "seconds": seconds * factor}
                for name, seconds in times.items()
                for row, factor in calls
            ],
            "checks": [
                own | {"process": process, "check": name, "error": error, "bound": bound}
                for process in range(processes)
                for name, (error, bound) in self.checks.items()
            ],
            "curves": [own | {"process": 0} | point for point in self.curve],
        }


def tables(measurements, machine=MACHINE, max_threads=24, **counts):
    """The tables of measurements by experiment, those of more threads as missing; `counts` as in `rows`."""
    every = {}
    for one in measurements:
        parts = every.setdefault(one.experiment, {name: [] for name in collect.TABLES})
        if one.case.threads > max_threads:
            why = {"why": f"needs {one.case.threads} cores, {max_threads} available"}
            parts["missing"].append(collect.own_columns(machine, one.experiment, *one.case.key.split("/")) | why)
            continue
        for name, rows in one.rows(machine, **counts).items():
            parts[name] += rows
    return {experiment: {name: frame(rows) for name, rows in parts.items()} for experiment, parts in every.items()}


def frame(rows):
    """Rows as a table that was read from its file."""
    return stored.in_blocks(stored.with_integers(pd.DataFrame(rows)))


def study(measurements, machine=MACHINE, **options):
    """A study of one machine with its description."""
    return Study(tables(measurements, machine, **options), machine, {machine: description()})


def both(study, other):
    """The study of two machines' tables, either of which may lack experiments."""
    parts = [study.tables, other.tables]
    joined = {
        name: {
            table: collect.concatenated([some[name][table] for some in parts if name in some])
            for table in collect.TABLES
        }
        for name in {**study.tables, **other.tables}
    }
    return Study(joined, study.subject, study.descriptions | other.descriptions)


def description():
    """What a machine is."""
    cpu = {"Model name": "A CPU with 100% of a_name & more", "L2 cache": "2 MiB (2 instances)", "Vector units": "avx2"}
    about = {"cpu": cpu, "cores": 24, "memory": 2**35, "cache_bytes": 2**25}
    about |= {"system": "Linux 6.1.0-30-amd64", "python": "3.11.2"}
    about["libraries"] = {"numpy": "2.4.6", "scipy": "1.17.1", "numba": "0.68.1"}
    return about | {"gpus": [{"name": "A GPU_100", "driver": "580.1"}]}


def kernel_report():
    """What the build says of one kernel source."""
    takes = {"registers": 30, "shared": 1024, "stack": 0, "spills": 0, "threads": 256, "dynamic": 0}
    takes["occupancy"] = {"blocks": 8, "warps": 64, "share": 1.0}
    about = {"architecture": "sm_90", "workload": "gemm", "variant": "cuda_naive"}
    about["constants"] = "dtype=float32,block=16"
    return about | {"kernels": {f"gemm_{form}": takes for form in ("nn", "tn", "nt")}, "warnings": []}


def sensitivity(path):
    """Write what the verb `sensitivity` does: every declared case, one check that sees and one that doesn't."""
    kinds = [
        {"array": "history", "share": 0.0123, "places": 5, "fault": fault, "check": check, "seen": seen, "error": error}
        for fault in (ELEMENT, ROW)
        for check, seen, error in (("columns projected", 3, 1.23e-15), ("residual before it stops", 0, None))
    ]
    cases = [
        {"workload": case.workload, "variant": case.variant, "case": case.slug, "dtype": case.sizes["dtype"]}
        for case in sensitivity_cases()
    ]
    pd.DataFrame([case | kind for case in cases for kind in kinds]).to_csv(path)
