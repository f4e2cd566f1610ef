"""Studies with times made up by rule, so that tests know what the report should say about them.

A study is given as Measurements, from which `study` makes tables; `chapters.py` has the Measurements of all chapters.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ladder.catalogue.traits import precision
from ladder.catalogue.workloads import constants, load
from ladder.records.case import Case
from ladder.store import collect, table_files
from ladder.store.study import Study

MACHINE = "a-machine-with-quite-a-long-name-24c"
CAMPAIGN = "a-campaign"  # in which everything was measured
# The time of a call in each process, as a multiple of the case's seconds, which are the median.
PROCESS_FACTORS = np.array([0.997, 0.998, 0.999, 1.001, 1.002, 1.003])


@dataclass(frozen=True)
class Measurement:
    """A case of an experiment with the seconds of a call, and further results of its processes.

    `phases` has seconds by name, `columns` further columns of all its rows, `curve` the points of the first process's
    curve, `checks` (error, bound) by name, `facts` the facts of a run, on which its cost may depend.
    """

    experiment: str
    case: Case
    seconds: float
    phases: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    columns: dict = field(default_factory=dict)
    curve: tuple = ()
    checks: dict = field(default_factory=dict)

    def scaled(self, factor):
        """The same, `factor` times as long."""
        phases = {name: factor * seconds for name, seconds in self.phases.items()}
        return replace(self, seconds=factor * self.seconds, phases=phases)

    def shared_columns(self, machine):
        """The columns that all its rows share."""
        case = self.case
        cost = load(case.workload).cost(case.sizes, *([self.facts] if self.facts else []))
        columns = {"machine": machine, "campaign": CAMPAIGN, "experiment": self.experiment, "workload": case.workload}
        columns |= {"variant": case.variant, "case": case.slug, "cache": case.cache} | case.sizes | case.tuning
        columns |= {"device": constants(case.workload, case.variant)["DEVICE"], "converged": True} | vars(cost)
        return columns | {"precision": precision(case), "threads_found": case.threads} | self.facts | self.columns


def tables(measurements, machine=MACHINE, max_threads=math.inf):
    """The tables of measurements, {experiment: {name: table}}; cases on more than `max_threads` are missing."""
    by_experiment = {}
    for measurement in measurements:
        rows = by_experiment.setdefault(measurement.experiment, {name: [] for name in collect.TABLES})
        if measurement.case.threads > max_threads:
            why = {"why": f"needs {measurement.case.threads} cores, {max_threads} available"}
            rows["missing"].append(
                collect.case_columns(machine, measurement.experiment, *measurement.case.key.split("/")) | why
            )
            continue
        shared, times = measurement.shared_columns(machine), {"total": measurement.seconds} | measurement.phases
        rows["samples"] += [shared | {"phase": phase, "seconds": seconds} for phase, seconds in times.items()]
        rows["checks"] += [
            shared | {"check": name, "error": error, "bound": bound}
            for name, (error, bound) in measurement.checks.items()
        ]
        rows["curves"] += [shared | {"process": 0} | point for point in measurement.curve]
    return {
        experiment: {name: frame(table_rows, name in ("samples", "checks")) for name, table_rows in rows.items()}
        for experiment, rows in by_experiment.items()
    }


def frame(rows, by_process=False):
    """Rows as a table read from a file; with `by_process`, each becomes a row per process, with that process's time."""
    table, processes = table_files.with_types(pd.DataFrame(rows)), np.arange(len(PROCESS_FACTORS))
    if table.empty or not by_process:
        return table
    table = table.take(np.repeat(np.arange(len(table)), len(processes))).reset_index(drop=True)
    table = table.assign(process=np.tile(processes, len(rows)), sample=0)
    return table.assign(seconds=table["seconds"] * np.tile(PROCESS_FACTORS, len(rows))) if "seconds" in table else table


def study(measurements, machine=MACHINE, **options):
    """The Study of a machine, with a description."""
    return Study(tables(measurements, machine, **options), machine, {machine: description()})


def merge(*studies):
    """The study of several machines, each of which may lack experiments; it is about the first one's."""
    tables_by_experiment = {}
    for experiment in dict.fromkeys(experiment for study in studies for experiment in study.tables):
        parts = [study.tables[experiment] for study in studies if experiment in study.tables]
        tables_by_experiment[experiment] = {
            table: collect.concatenate([tables[table] for tables in parts]) for table in collect.TABLES
        }
    descriptions = {name: about for study in studies for name, about in study.descriptions.items()}
    return Study(tables_by_experiment, studies[0].machine_name, descriptions)


def description():
    """The description of a machine."""
    cpu = {"Model name": "A CPU with 100% of a_name & more", "L2 cache": "2 MiB (2 instances)", "Vector units": "avx2"}
    about = {"cpu": cpu, "cores": 24, "memory": 2**35, "cache_bytes": 2**25}
    about |= {"system": "Linux 6.1.0-30-amd64", "python": "3.11.2"}
    about["libraries"] = {"numpy": "2.4.6", "scipy": "1.17.1", "numba": "0.68.1"}
    return about | {"gpus": [{"name": "A GPU_100", "driver": "580.1"}]}


def kernel_report():
    """The build's report on a source with three kernels."""
    resources = {"registers": 30, "shared": 1024, "stack": 0, "spills": 0, "threads": 256, "dynamic": 0}
    resources["occupancy"] = {"blocks": 8, "warps": 64, "share": 1.0}
    about = {"architecture": "sm_90", "workload": "gemm", "variant": "cuda_naive"}
    about["constants"] = "dtype=float32,block=16"
    return about | {"kernels": {f"gemm_{form}": resources for form in ("nn", "tn", "nt")}, "warnings": []}
