"""A study of products and of the training with times made up by rule, at the sizes of the claims."""

import itertools

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import collect, stored
from ladder.report.study import Study
from ladder.workloads.mlp.paper import query, rungs

MACHINE = "nvidia-h200"
GAIN = {1: 1.0, 2: 2.0, 4: 3.6, 6: 3.7, 12: 3.8, 24: 1.9}  # levels off from 4 threads, is worse on 24
SPEED = {"openmp": 1.0, "interchanged": 4.0, "tiled": 25.0, "blas": 25.0, "c_openmp": 1.0}
# Times as fast as the naive kernel, in float64, and with float32's operands in TF32.
CARD = {"cuda_naive": 1, "cuda_shared": 1.5, "cuda_columns": 3, "cuda_tiled": 9, "cuda_mma": 18, "cublas": 18}
BATCH = {"cuda_naive": 120e-6, "cuda_shared": 80e-6, "cuda_tiled": 40e-6, "cuda_mma": 30e-6, "cublas": 36e-6}
ONE_BY_ONE = {"cuda_naive": 125e-6, "cuda_shared": 84e-6, "cuda_tiled": 100e-6, "cuda_mma": 100e-6, "cublas": 120e-6}
PEERS = {"numpy_loop": 1.5, "pytorch": 1.25}  # times as long as `tiled`
IN_BATCHES = {"numpy_loop": 1.3, "pytorch": 1.0}  # the same, of 1000
NAIVE = {"tn": 1.1, "nt": 8.0}  # times as long as `nn`, by the naive kernel
SHARE = 0.995  # of products in a training by the plain loops
COPY = 1e-3  # seconds of the copies to the card, and of those back


def training(experiment, **changes):
    """The sizes of a training of an experiment."""
    return complete("mlp", {"epochs": 2, "rate": 1.0, "source": "mnist"} | query.SIZES[experiment] | changes)


def product(experiment, dtype="float64", **changes):
    """The sizes of a product of an experiment."""
    return complete("gemm", query.SIZES[experiment] | {"dtype": dtype} | changes)


def cases():
    """(experiment, case, seconds) of all experiments."""
    for name in ("openmp", "c_openmp"):
        yield query.LOOPS, Case("gemm", name, product(query.LOOPS), {"threads": 1}), 0.2
    for threads, gain in GAIN.items():
        for name in rungs.PRODUCTS:
            tuning = {"threads": threads}
            yield query.PRODUCTS, Case("gemm", name, product(query.PRODUCTS), tuning), 0.2 / SPEED[name] / gain
            case = Case("mlp", "host", training(query.THREADS), {"product": name, **tuning})
            yield query.THREADS, case, 0.5 / SPEED[name] / gain
    for threads, (batch, peers) in itertools.product((1, 2), ((100, PEERS), (1000, IN_BATCHES))):
        tuning, sizes = {"threads": threads}, training(query.PEERS, batch=batch)
        yield query.PEERS, Case("mlp", "host", sizes, {"product": "tiled", **tuning}), 0.1 / threads
        for name, longer in peers.items():
            yield query.PEERS, Case("mlp", name, sizes, tuning), 0.1 * longer / threads
    yield from on_card()


def on_card():
    """The same of the card."""
    for line in rungs.ON_CARD:
        case = Case("gemm", line.variant, product(query.SQUARE), line.tuning)
        yield query.SQUARE, case, 36e-3 / CARD[line.variant]
    naive, shared = rungs.ON_CARD[:2]
    for form, longer in NAIVE.items():
        sizes = product(query.SQUARE, form=form)
        yield query.SQUARE, Case("gemm", naive.variant, sizes, naive.tuning), 36e-3 * longer
        yield query.SQUARE, Case("gemm", shared.variant, sizes, shared.tuning), 24e-3
    for rows, seconds in ((100, 1e-5), (60000, 6e-4)):
        sizes = complete("gemm", query.SIZES[query.BY_ROWS] | {"m": rows, "dtype": "float64"})
        yield query.BY_ROWS, Case("gemm", "cublas", sizes, {"math": "default"}), seconds
    single = product(query.SINGLE, "float32")
    for name, line, seconds in (
        ("cuda_mma", rungs.IN_TF32["cuda_mma"], 1e-3),
        ("cublas", rungs.IN_TF32["cublas"], 5e-4),
    ):
        yield query.SINGLE, Case("gemm", name, single, line.tuning), seconds
    yield query.SINGLE, Case("gemm", "cublas", single, {"math": "default"}), 4e-3
    whole = training(query.CARD)
    for times, graph in ((ONE_BY_ONE, "off"), (BATCH, "on")):
        for name, seconds in times.items():
            yield query.CARD, Case("mlp", "cuda", whole, {"product": name, "graph": graph}), 600 * seconds
    for graph, seconds in (("off", 500e-6), ("on", 90e-6)):
        yield query.CARD, Case("mlp", "pytorch_cuda", whole, {"graph": graph}), 600 * seconds
    # With its copies an epoch takes as long as by `blas` on twelve threads.
    case = Case("mlp", "cuda", training(query.THREADS), {"product": "cublas", "graph": "off"})
    yield query.THREADS, case, 0.5 / SPEED["blas"] / GAIN[12] - 2 * COPY


def phases(rows, case, share):
    """The phases of a training; on the card those of products of few tiles take less than their launches."""
    part = share if case.tuning["product"] == "openmp" else 0.85
    slow = case.variant == "host" or case.tuning["product"] in ("cuda_naive", "cuda_shared")
    found = made_up.phases(rows, part)
    found = [row | {"seconds": row["seconds"] * (1.0 if slow else 0.3)} for row in found]
    copies = [row | {"phase": name, "seconds": COPY} for row in rows for name in query.COPIES]
    return found if case.variant == "host" else found + copies


def tables(machine=MACHINE, chosen=None, share=SHARE, processes=6):
    """The tables of all experiments, or of the chosen (experiment, case, seconds)."""
    found = {}
    for experiment, case, seconds in cases() if chosen is None else chosen:
        parts = found.setdefault(experiment, {name: [] for name in collect.TABLES})
        rows = made_up.case_rows(machine, experiment, case, seconds, processes, 2)
        parts["samples"] += rows
        if case.variant in ("host", "cuda") and case.tuning.get("graph") != "on":
            parts["samples"] += phases(rows, case, share)
    return {
        name: {table: stored.with_integers(pd.DataFrame(rows)) for table, rows in parts.items()}
        for name, parts in found.items()
    }


def study(machine=MACHINE, **choices):
    """A study of one machine with its card."""
    return Study(tables(machine, **choices), machine, {machine: made_up.description()})
