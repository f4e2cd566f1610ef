"""A study of products and of the training with times made up by rule, at the sizes of the claims."""

import itertools

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import collect, stored
from ladder.report.study import Study
from ladder.workloads.mlp.paper.lines import COPIES, LINES, PRODUCTS, SOURCES, TABLE

MACHINE = "nvidia-h200"
GAIN = {1: 1.0, 2: 2.0, 4: 3.6, 6: 3.7, 12: 3.8, 24: 1.9}  # levels off from 4 threads, is worse on 24
SPEED = {"openmp": 1.0, "interchanged": 4.0, "tiled": 25.0, "blas": 25.0}
# Times as fast as the naive kernel, in float64, and with float32's operands in TF32.
GPU = {"cuda_naive": 1, "cuda_shared": 1.5, "cuda_columns": 3, "cuda_tiled": 9, "cuda_mma": 18, "cublas": 18}
BATCH = {"cuda_naive": 120e-6, "cuda_shared": 80e-6, "cuda_tiled": 40e-6, "cuda_mma": 30e-6, "cublas": 36e-6}
ONE_BY_ONE = {"cuda_naive": 125e-6, "cuda_shared": 84e-6, "cuda_tiled": 100e-6, "cuda_mma": 100e-6, "cublas": 120e-6}
PEERS = {"numpy_loop": 1.5, "pytorch": 1.25}  # times as long as `tiled`
IN_BATCHES = {"numpy_loop": 1.3, "pytorch": 1.0}  # the same, of 1000
NAIVE = {"tn": 1.1, "nt": 8.0}  # times as long as `nn`, by the naive kernel
SHARE = 0.995  # of products in a training by the plain loops
COPY = 1e-3  # seconds of the copies to the GPU, and of those back
DEFAULTS = {"gemm": {}, "mlp": {"epochs": 2, "rate": 1.0, "source": "mnist"}}


def measured(source, variant, tuning, seconds, workload="gemm", **sizes):
    """(experiment, case, seconds) of a source of the chapter."""
    conditions = {name: value for name, value in SOURCES[source].conditions.items() if name != "device"}
    sizes = complete(workload, DEFAULTS[workload] | conditions | sizes)
    return SOURCES[source].experiments[0], Case(workload, variant, sizes, tuning), seconds


def trained(source, variant, seconds, **tuning):
    """The same of a training."""
    return measured(source, variant, tuning, seconds, "mlp")


def cases():
    """(experiment, case, seconds) of all experiments."""
    for name in ("openmp", "c_openmp"):
        yield measured("loops", name, {"threads": 1}, 0.2)
    for (threads, gain), name in itertools.product(GAIN.items(), PRODUCTS):
        yield measured("products", name, {"threads": threads}, 0.2 / SPEED[name] / gain)
        yield trained("training", "host", 0.5 / SPEED[name] / gain, product=name, threads=threads)
    for threads, (source, peers) in itertools.product((1, 2), (("peers", PEERS), ("peers, larger", IN_BATCHES))):
        yield trained(source, "host", 0.1 / threads, product="tiled", threads=threads)
        for name, longer in peers.items():
            yield trained(source, name, 0.1 * longer / threads, threads=threads)
    yield from on_gpu()


def on_gpu():
    """The same of the GPU."""
    for name in TABLE[1]:
        yield measured("nn", name, LINES[name].tuning, 36e-3 / GPU[name])
    for form, longer in NAIVE.items():
        yield measured(form, "cuda_naive", LINES["cuda_naive"].tuning, 36e-3 * longer)
        yield measured(form, "cuda_shared", LINES["cuda_shared"].tuning, 24e-3)
    for rows, seconds in ((100, 1e-5), (60000, 6e-4)):
        yield measured("rows", "cublas", {"math": "default"}, seconds, m=rows)
    yield measured("single", "cuda_mma", LINES["tf32/cuda_mma"].tuning, 1e-3)
    for math, seconds in (("tf32", 5e-4), ("default", 4e-3)):
        yield measured("single", "cublas", {"math": math}, seconds)
    for times, graph in ((ONE_BY_ONE, "off"), (BATCH, "on")):
        for name, seconds in times.items():
            yield trained("card", "cuda", 600 * seconds, product=name, graph=graph)
    for graph, seconds in (("off", 500e-6), ("on", 90e-6)):
        yield trained("card", "pytorch_cuda", 600 * seconds, graph=graph)
    # With its copies an epoch takes as long as by `blas` on twelve threads.
    yield trained("few images", "cuda", 0.5 / SPEED["blas"] / GAIN[12] - 2 * COPY, product="cublas", graph="off")


def phases(rows, case, share):
    """The phases of a training; on the GPU those of products of few tiles take less than their launches."""
    part = share if case.tuning["product"] == "openmp" else 0.85
    slow = case.variant == "host" or case.tuning["product"] in ("cuda_naive", "cuda_shared")
    every = [row | {"seconds": row["seconds"] * (1.0 if slow else 0.3)} for row in made_up.phases(rows, part)]
    copies = [row | {"phase": name, "seconds": COPY} for row in rows for name in COPIES]
    return every if case.variant == "host" else every + copies


def tables(machine=MACHINE, chosen=None, share=SHARE, processes=6):
    """The tables of all experiments, or of the chosen (experiment, case, seconds)."""
    every = {}
    for experiment, case, seconds in cases() if chosen is None else chosen:
        parts = every.setdefault(experiment, {name: [] for name in collect.TABLES})
        rows = made_up.case_rows(machine, experiment, case, seconds, processes, 2)
        parts["samples"] += rows
        if case.variant in ("host", "cuda") and case.tuning.get("graph") != "on":
            parts["samples"] += phases(rows, case, share)
    return {
        name: {table: stored.with_integers(pd.DataFrame(rows)) for table, rows in parts.items()}
        for name, parts in every.items()
    }


def study(machine=MACHINE, **choices):
    """A study of one machine with its GPU."""
    return Study(tables(machine, **choices), machine, {machine: made_up.description()})
