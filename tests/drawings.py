"""Figures drawn from the tables of the cases of `config/config.yaml`, with times made up by rule."""

import functools

import pandas as pd
from matplotlib.text import Text

from conftest import ROOT
from ladder.catalogue import traits, workloads
from ladder.planning import configuration, plan
from ladder.planning.targets import Target
from ladder.report import figures
from ladder.report.figures import theme
from ladder.store import collect, table_files

THREADS = (1, 2, 6, 24)  # numbers of threads of the cases, on a machine of 24 cores
MACHINES = ("amd-ryzen-9-5900x-12c", "intel-xeon-gold-6248-24c (published)", "epyc-7763-2c (published)")
PHASES = ("gather", "forward 1", "activation", "loss", "gradient 1", "delta 1", "bias", "update")
COPY_SECONDS = {"to device": 2e-4, "to host": 1e-5}
RANK_PHASE_SHARES = {"scatter": 0.5, "broadcast": 0.01, "compute": 0.4, "gather": 0.04}  # shares of a call
RATES = {"openmp": 1.0, "interchanged": 7.0, "tiled": 30.0, "blas": 40.0}  # GFLOP/s, on the host those of one thread
RATES |= {"cuda_naive": 3e3, "cuda_shared": 6e3, "cuda_columns": 1e4, "cuda_tiled": 2.5e4}
RATES |= {"cuda_mma": 5e4, "cublas": 5.5e4}
DEFAULT_RATE = 10.0

CURVES = {
    "mlp": [
        {"epoch": epoch, "loss": 1 / epoch, "reference_loss": 1 / epoch, "loss_bound": 1e-13, "accuracy": 0.9}
        for epoch in (1, 2, 3)
    ],
    "descent": [{"step": step, "residual": 0.5**step, "reference": 0.5**step, "bound": 1e-6} for step in range(20)],
}
FACTS = {"descent": {"steps": 20}}
TRACE = [["compute", "1", 0.0, 1e-3], ["copy", "1", 1e-3, 2e-3]]  # lane, name, start and end in seconds


def seconds(case, flops, process, sample):
    """A time that decreases with the number of cores and varies a little between processes and samples."""
    rate = RATES.get(case.tuning.get("product", case.variant), DEFAULT_RATE) * 1e9 * case.cores**0.8
    return flops / rate * (1 + 0.01 * process + 0.001 * sample)


def rank_phases(case, time):
    """The phases of a product on ranks; in chunks, computation and communication are one phase."""
    if "ranks" not in case.tuning:
        return {}
    phases = {name: time * share for name, share in RANK_PHASE_SHARES.items()}
    if case.tuning.get("chunks", 1) > 1:
        overlapped = "scatter" if case.tuning["mode"] == "ship" else "gather"
        phases = {f"{overlapped} and compute": phases.pop(overlapped) + phases.pop("compute")} | phases
    return phases


def record(case, processes, converged):
    """A record as a measurement in this number of processes would leave it, with the fields that tables need."""
    flops, device = 2e8, workloads.constants(case.workload, case.variant)["DEVICE"]
    # Made up, except for gemv, whose costs are those of the workload.
    cost = {"flops": flops, "bytes": 1e7, "precision": case.sizes.get("dtype", "float64")}
    if case.workload == "gemv":
        cost = vars(workloads.load("gemv").cost(case.sizes))
        flops = cost["flops"]

    def process_fields(process):
        times = [seconds(case, flops, process, sample) for sample in range(3)]
        phases = {name: times[0] / len(PHASES) for name in PHASES} if case.workload == "mlp" else {}
        phases |= rank_phases(case, times[0]) | (COPY_SECONDS if device == "cuda" else {})
        return {
            "threads": {"runtimes": {"numba": case.threads}},
            "samples": times,
            "setup": 1.0,
            "first": 2 * times[0],
            "phases": [phases] * 2,
            "checks": [],
            "curve": CURVES.get(case.workload, []),
            "facts": FACTS.get(case.workload, {}),
            "trace": TRACE if case.workload == "dcgan" and device != "host" else [],
        }

    fields = {"device": device, "converged": converged, "cost": cost, "protocol": {}}
    fields["source"] = {"commit": "unknown", "dirty": False}
    return fields | {"processes": [*map(process_fields, range(processes))]}


@functools.cache
def configured_cases():
    """The cases of `config/config.yaml` on a machine of 24 cores, {experiment: cases}."""
    config = configuration.load([ROOT / "config" / "config.yaml"])
    cases = {}
    for entry in plan.plan(config, {"cpu": Target("here", cores=24)}):
        cases.setdefault(entry.experiment, []).append(entry.case)
    return cases


@functools.cache
def planned_cases(threads=THREADS):
    """Of the configured cases, those with the given numbers of threads and those on ranks that fit on the machine."""

    def is_planned(case):
        return case.threads in threads or ("ranks" in case.tuning and case.threads <= 24)

    return {experiment: [*filter(is_planned, cases)] for experiment, cases in configured_cases().items()}


@functools.cache
def rows_of(experiment, machine, missing_variants, missing_devices, processes, converged):
    """The rows of an experiment on a machine, {table: rows}, without these variants and devices."""
    rows = {name: [] for name in collect.TABLES}
    for case in planned_cases()[experiment]:
        columns = collect.case_columns(machine, experiment, case.workload, case.variant, case.slug)
        if case.variant in missing_variants or traits.device(case) in missing_devices:
            rows["missing"].append(columns | {"why": "it is not installed"})
            continue
        for name, new_rows in collect.rows_of(record(case, processes, converged), columns).items():
            rows[name] += new_rows
    return rows


def tables(figure_name, machines=MACHINES[:1], missing_variants=(), missing_devices=None, processes=3, converged=True):
    """The tables that a figure reads, {experiment: tables}; `missing_devices` is {machine: devices that it lacks}."""
    experiments, missing_devices = {}, missing_devices or {}
    for experiment in figures.constants(figure_name)["EXPERIMENTS"]:
        rows_by_machine = [
            rows_of(experiment, name, missing_variants, missing_devices.get(name, ()), processes, converged)
            for name in machines
        ]
        experiments[experiment] = {
            name: table_files.with_types(pd.DataFrame([row for rows in rows_by_machine for row in rows[name]]))
            for name in collect.TABLES
        }
    return experiments


def empty_tables(figure_name):
    """The tables of a figure whose experiments were not measured."""
    experiments = figures.constants(figure_name)["EXPERIMENTS"]
    return {experiment: {name: pd.DataFrame() for name in collect.TABLES} for experiment in experiments}


def ceilings(machines=MACHINES):
    """Ceilings of 1 and 24 threads and of a GPU.

    A thread has 50 GFLOP/s and 20 GB/s; the GPU has 60 TFLOP/s, without tensor cores 33 TFLOP/s, and 4 TB/s.
    """
    gemm = "form=nn,m=2048,n=2048,k=2048,dtype={},source=random,seed=1,cache=warm,threads={}"
    stream = "kernel=read,elements=16777216,dtype=float64,seed=1,cache=cold,threads={}"
    rows = []
    for threads in (1, 24):
        for dtype in ("float64", "float32"):
            row = {"workload": "gemm", "variant": "blas", "case": gemm.format(dtype, threads), "best": 50e9 * threads}
            rows.append(row)
        rows.append({"workload": "stream", "variant": "openmp", "case": stream.format(threads), "best": 20e9 * threads})
    stream = stream.replace("threads={}", "block=512")
    rows.append({"workload": "stream", "variant": "cuda", "case": stream, "best": 4e12, "device": "cuda"})
    cublas = gemm.format("float64", 1).replace("threads=1", "math=default")
    fma = "elements=16777216,length=8192,dtype=float64,seed=1,cache=warm,block=128,chains=8"
    rows.append({"workload": "gemm", "variant": "cublas", "case": cublas, "best": 60e12, "device": "cuda"})
    rows.append({"workload": "fma", "variant": "cuda", "case": fma, "best": 33e12, "device": "cuda"})
    return {machine: {"rows": rows} for machine in machines}


def draw(name, figure_tables, figure_ceilings=None, is_laid_out=False):
    """A figure as the verb would draw it, from its tables and ceilings, by default those of `ceilings`."""
    figure_inputs = {"tables": figure_tables} if figures.constants(name)["EXPERIMENTS"] else {}
    if figures.constants(name)["USES_ARTEFACTS"]:
        figure_inputs["artefacts"] = dict.fromkeys(
            figures.constants(name)["USES_ARTEFACTS"], ROOT / "docs/pictures.png"
        )
    if figures.constants(name)["USES_CEILINGS"]:
        figure_inputs["ceilings"] = ceilings() if figure_ceilings is None else figure_ceilings
    with theme.context():
        figure = figures.draw(name, **figure_inputs)
        if is_laid_out:
            figure.draw_without_rendering()
    return figure


def visible_texts(figure):
    """All texts in a figure."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
