"""A study of matrix-vector products with times made up by rule: on threads, on ranks, on a card, and on several."""

import itertools

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete, load
from ladder.records.case import Case
from ladder.report import collect, stored
from ladder.report.study import Study
from ladder.workloads.gemv.paper.lines import DTYPE, EXPERIMENTS, SIZES

MACHINE = "nvidia-h200"
# B/s: of a core, of the memory by thread, of a card's memory, of the link to one.
CORE, MEMORY, CARD, LINK = 10e9, 12.5e9, 4e12, 50e9
THREADS, RANKS, CARDS = (1, 4), (1, 2, 4), (1, 2, 4)
# On threads, how many times as fast as `openmp`.
ON_THREADS = [
    ("openmp", {}, 1.0),
    ("openmp_bound", {"binding": "spread"}, 1.2),
    ("openmp_bound", {"binding": "close"}, 0.6),
    ("c_openmp", {"schedule": "static"}, 1.0),
    ("c_openmp", {"schedule": "dynamic"}, 0.5),
    ("blas", {}, 1.0),
]
ON_CARD = {"cuda_naive": 1e12, "cuda_shared": 0.9e12, "cuda_coalesced": 2.5e12, "cuda_warp": 3.9e12, "cublas": 3.8e12}
TILES = {"cuda_warp": {}, "cublas": {}, "cuda_coalesced": {"block": 128, "tile": 32}}
SHIPPING = {"mpi_cublas": 12e9, "nccl_cublas": 49e9}  # B/s
TALK = 1e-7  # seconds of a short message


def case_of(variant, sizes, **tuning):
    """A case with the chapter's dtype."""
    return Case("gemv", variant, complete("gemv", sizes | {"dtype": DTYPE}), tuning)


def bytes_of(case):
    """The bytes of a product."""
    return load("gemv").cost(case.sizes).bytes


def cases():
    """(experiment, case, seconds) of all experiments."""
    for (variant, tuning, speed), threads in itertools.product(ON_THREADS, THREADS):
        case = case_of(variant, SIZES["threads"], **tuning, threads=threads)
        yield EXPERIMENTS["threads"], case, bytes_of(case) / (CORE * speed * threads)
    smaller = SIZES["ranks"] | {"n": 2048}
    for sizes in (SIZES["ranks"], smaller):
        for threads in THREADS:
            case = case_of("openmp", sizes, threads=threads)
            yield EXPERIMENTS["ranks"], case, bytes_of(case) / CORE / threads
        for mode, ranks in itertools.product(("ship", "resident"), RANKS):
            yield EXPERIMENTS["ranks"], *timed(case_of("mpi", sizes, mode=mode, ranks=ranks))
        for mode in ("ship", "resident"):
            yield EXPERIMENTS["ranks"], *timed(case_of("mpi_openmp", sizes, mode=mode, ranks=2, threads=8))
    for sizes, (variant, rate) in itertools.product((SIZES["card"], SIZES["small"], SIZES["long"]), ON_CARD.items()):
        case = case_of(variant, sizes, **TILES.get(variant, {"block": 128}))
        slower = 2 if variant == "cublas" and sizes == SIZES["small"] else 1
        yield EXPERIMENTS["card"], case, slower * bytes_of(case) / rate
    shared = ((EXPERIMENTS["cards"], SIZES["ranks"]), (EXPERIMENTS["large"], SIZES["large"]))
    for (name, sizes), variant, ranks, chunks in itertools.product(shared, SHIPPING, CARDS, (1, 4)):
        own = {"ranks": ranks, "chunks": chunks}
        yield name, *timed(case_of(variant, sizes, mode="resident", **own))
        if name == EXPERIMENTS["cards"]:
            yield name, *timed(case_of(variant, sizes, mode="ship", **own))
        if variant == "nccl_cublas":
            case, seconds = timed(case_of(variant, sizes, mode="resident", graph="on", **own))
            yield name, case, seconds / 1.25
    for ranks in CARDS:
        own = {"mode": "resident", "ranks": ranks, "chunks": 1, "graph": "on"}
        case, seconds = timed(case_of("nccl_cublas", SIZES["larger"], **own))
        yield EXPERIMENTS["larger"], case, seconds * (2 if ranks > 1 else 1)


def timed(case):
    """A case on ranks with the seconds of its call, the sum of its phases."""
    return case, sum(seconds for name, seconds in phases(case).items() if is_timed(name, case))


def is_timed(phase, case):
    """Whether a phase is part of every product."""
    return case.tuning["mode"] == "ship" or phase != "scatter"


def phases(case):
    """Seconds of the phases of a product on ranks.

    On the host two ranks are sent as much as a core computes in the same time, four half as much again; in pieces, what
    travels overlaps with the computation, and takes a tenth longer.
    """
    ranks, count = case.tuning["ranks"], bytes_of(case)
    if case.variant in SHIPPING:
        sending, computing = count / SHIPPING[case.variant], count / ranks / ON_CARD["cublas"]
    else:
        sending, computing = 2 * (ranks - 1) / ranks * count / CORE, count / CORE / case.cores
    found = {"scatter": sending or TALK, "broadcast": TALK, "compute": computing, "gather": TALK}
    if case.tuning.get("chunks", 1) > 1:
        other = "scatter" if case.tuning["mode"] == "ship" else "gather"
        found = {f"{other} and compute": 1.1 * (found.pop(other) + found.pop("compute"))} | found
    return found


def tables(machine=MACHINE, processes=6, chosen=None):
    """The tables of all experiments, or of the chosen (experiment, case, seconds)."""
    found = {}
    for experiment, case, seconds in chosen if chosen is not None else cases():
        parts = found.setdefault(experiment, {name: [] for name in collect.TABLES})
        rows = made_up.case_rows(machine, experiment, case, seconds, processes, 2)
        parts["samples"] += rows
        if "ranks" in case.tuning:
            parts["samples"] += [
                row | {"phase": name, "seconds": row["seconds"] / seconds * part, "imbalance": 1.25}
                for row in rows
                for name, part in phases(case).items()
            ]
    return {
        name: {table: stored.with_integers(pd.DataFrame(rows)) for table, rows in parts.items()}
        for name, parts in found.items()
    }


def ceilings(machine=MACHINE):
    """The tables of ceilings: the host's memory by threads, the card's, and the copies to it."""
    chosen = []
    for name, variant, tunings, rate in (
        ("ceiling_bandwidth", "openmp", [{"threads": count} for count in (*THREADS, 16)], MEMORY),
        ("ceiling_gpu_bandwidth", "cuda", [{"block": 512}], CARD),
    ):
        for tuning in tunings:
            case = Case("stream", variant, complete("stream", {"kernel": "read", "elements": 2**27}), tuning)
            chosen.append((name, case, 8 * 2**27 / rate / tuning.get("threads", 1)))
    found = made_up.tables(machine, chosen=chosen)
    samples = found["ceiling_gpu_bandwidth"]["samples"]
    is_copy = samples["phase"] == "to device"
    samples.loc[is_copy, "seconds"] = samples.loc[is_copy, "bytes"] / LINK
    return found


def study(machine=MACHINE, **choices):
    """A study of one machine with its cards."""
    return Study(tables(machine, **choices) | ceilings(machine), machine, {machine: made_up.description()})
