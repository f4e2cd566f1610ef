"""Studies with times made up by rule, so that what should be told of them is known beforehand.

What was measured is data, Measurements, of which `study` makes tables; `chapters.py` has those of all chapters.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ladder.catalogue.workloads import constants, load, precision
from ladder.records.case import Case
from ladder.store import collect, stored
from ladder.store.study import Study

MACHINE = "a-machine-with-quite-a-long-name-24c"
# The time of a call in each process, as a multiple of the case's seconds, which are the median.
PROCESSES = np.array([0.997, 0.998, 0.999, 1.001, 1.002, 1.003])


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
    facts: dict = field(default_factory=dict)
    columns: dict = field(default_factory=dict)
    curve: tuple = ()
    checks: dict = field(default_factory=dict)

    def times(self, factor):
        """The same, so many times as long."""
        phases = {name: factor * seconds for name, seconds in self.phases.items()}
        return replace(self, seconds=factor * self.seconds, phases=phases)

    def own(self, machine):
        """The columns of all its rows."""
        case = self.case
        cost = load(case.workload).cost(case.sizes, *([self.facts] if self.facts else []))
        own = {"machine": machine, "experiment": self.experiment, "workload": case.workload, "variant": case.variant}
        own |= {"case": case.slug, "cache": case.cache} | case.sizes | case.tuning
        own |= {"device": constants(case.workload, case.variant)["DEVICE"], "converged": True} | vars(cost)
        return own | {"precision": precision(case), "threads_found": case.threads} | self.facts | self.columns


def tables(measurements, machine=MACHINE, max_threads=math.inf):
    """The tables of measurements by experiment, {experiment: {name: table}}, those of more threads as missing."""
    by_experiment = {}
    for one in measurements:
        rows = by_experiment.setdefault(one.experiment, {name: [] for name in collect.TABLES})
        if one.case.threads > max_threads:
            why = {"why": f"needs {one.case.threads} cores, {max_threads} available"}
            rows["missing"].append(collect.case_columns(machine, one.experiment, *one.case.key.split("/")) | why)
            continue
        own, times = one.own(machine), {"total": one.seconds} | one.phases
        rows["samples"] += [own | {"phase": phase, "seconds": seconds} for phase, seconds in times.items()]
        rows["checks"] += [own | {"check": name, "error": e, "bound": bound} for name, (e, bound) in one.checks.items()]
        rows["curves"] += [own | {"process": 0} | point for point in one.curve]
    return {
        experiment: {name: frame(some, name in ("samples", "checks")) for name, some in rows.items()}
        for experiment, rows in by_experiment.items()
    }


def frame(rows, by_process=False):
    """Rows as a table that was read from its file; a row of every process in place of one, with its time."""
    table, processes = stored.consolidate(stored.with_integers(pd.DataFrame(rows))), np.arange(len(PROCESSES))
    if table.empty or not by_process:
        return table
    table = table.take(np.repeat(np.arange(len(table)), len(processes))).reset_index(drop=True)
    table = table.assign(process=np.tile(processes, len(rows)), sample=0)
    return table.assign(seconds=table["seconds"] * np.tile(PROCESSES, len(rows))) if "seconds" in table else table


def study(measurements, machine=MACHINE, **options):
    """A study of one machine with its description."""
    return Study(tables(measurements, machine, **options), machine, {machine: description()})


def both(*studies):
    """The study of several machines' tables, each of which may lack experiments, about the first one's subject."""
    joined = {}
    for name in dict.fromkeys(name for study in studies for name in study.tables):
        having = [study.tables[name] for study in studies if name in study.tables]
        joined[name] = {table: collect.concatenate([some[table] for some in having]) for table in collect.TABLES}
    descriptions = {name: about for study in studies for name, about in study.descriptions.items()}
    return Study(joined, studies[0].subject, descriptions)


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
