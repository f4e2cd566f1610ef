"""A study of the generator with times made up by rule: of rungs on host and card, batches and ways home."""

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import collect, stored
from ladder.report.study import Study
from ladder.workloads.dcgan import formats
from ladder.workloads.dcgan.paper import query, rungs

MACHINE = "nvidia-h200"
THREADS = (1, 2)
# Seconds of a picture, by the key of a line; on the host on one thread.
PICTURE = {
    "loops": 100e-3,
    "parity": 20e-3,
    "parity-threads": 20e-3,
    "blas": 8e-3,
    "tuned": 4e-3,
    "mixed": 3e-3,
    "pytorch": 6e-3,
    "naive": 400e-6,
    "card-parity": 200e-6,
    "two": 100e-6,
    "three": 20e-6,
    "four": 7e-6,
    "window": 6e-6,
    "tf32": 1.5e-6,
    "float16": 0.75e-6,
    "brought": 0.6e-6,
    "home": 6e-6,
    "home-tf32": 1.5e-6,
    "home-brought-tf32": 1.4e-6,
    "home-float16": 1.5e-6,
    "home-brought": 1.4e-6,
    "peer": 12e-6,
    "peer-tf32": 3e-6,
    "peer-float16": 1.5e-6,
    "peer-home": 12e-6,
    "peer-home-tf32": 3e-6,
    "peer-home-float16": 3e-6,
}
# Of all pictures in one batch, by arithmetic.
AT_ONCE = {"float32": 6e-6, "tf32": 1.4e-6, "float16": 0.6e-6}
EPILOGUES = {"separate": 9e-6, "folded": 9e-6, "graph": 5e-6}
IN_BATCHES = 1.12e-6  # in those of the way home in TF32
LINK = 1.35e-6  # on the way to the host
SCREEN = {"tf32": 1.4e-6, "float16": 0.7e-6}  # as bytes
# Times as long as the least of a way home, by memory and copies.
WAYS = {"pinned": 1.0, "staged": 8.0, "pageable": 4.0}
SHARES = {"projection": 0.02, "layer 1": 0.3, "layer 2": 0.3, "layer 3": 0.3, "layer 4": 0.08}
EXPERIMENTS = {"host": query.HOST, "pytorch": query.HOST, "home": query.HOME, "pytorch_home": query.HOME}
# Seconds of a call for no picture, and of a process's start, by cards; those of a rank are the same.
CALL, START = {1: 0.5e-3, 2: 1e-3, 4: 2e-3}, {1: 0.4, 2: 0.7, 4: 1.3}
IMAGES, SOME = (10, 100, 200, 1000, 5248), 1000
PRODUCTS = {"cuda_shared": 10e-3, "cuda_columns": 5e-3, "cuda_tiled": 2e-3}  # seconds
BY_VERB = formats.VARIANTS["offload"][1]
JOULES = 5e-3  # of a picture on a card


def case_of(line, images, pictures="float32", **others):
    """The case of a line, with what it doesn't state left out."""
    sizes = complete("dcgan", {"images": images, "channels": 512, "pictures": pictures})
    tuning = {name: value for name, value in (line.tuning | others).items() if value is not None}
    return Case("dcgan", line.variant, sizes, tuning, "cold" if images == 64 else "warm")


def cases():
    """(experiment, case, seconds) of all experiments."""
    for key, seconds in PICTURE.items():
        line = rungs.line(key)
        experiment, on_host = EXPERIMENTS.get(line.variant, query.CARD), line.variant in ("host", "pytorch")
        images = 64 if on_host else query.IMAGES
        for threads in THREADS if line.tuning.get("threads") == rungs.MOST else (None,):
            if (key, threads) == ("parity-threads", 1):
                continue  # which is `parity`
            own = {"threads": threads} if threads else {}
            yield experiment, case_of(line, images, **own), images * seconds / (threads or 1)
    for batch in (1, 16, 100, 256):
        yield query.CARD, case_of(rungs.batches(batch), query.IMAGES), query.IMAGES * 64e-6 / batch
    for epilogue, seconds in EPILOGUES.items():
        yield query.CARD, case_of(rungs.EPILOGUES[epilogue], query.IMAGES), query.IMAGES * seconds
    for math, seconds in AT_ONCE.items():
        yield query.CARD, case_of(rungs.at_once(math), query.IMAGES), query.IMAGES * seconds
    yield query.CARD, case_of(rungs.kernels_of("home-brought-tf32"), query.IMAGES), query.IMAGES * IN_BATCHES
    for memory, longer in WAYS.items():
        for copies in rungs.COPIES:
            for math, seconds in (("float32", 6e-6), ("float16", 1e-6)):
                after = 2 if copies == "after" else 1
                case = case_of(rungs.home(memory, copies, math), query.IMAGES)
                yield query.HOME, case, query.IMAGES * seconds * longer * after
    for math, seconds in SCREEN.items():
        line = rungs.BYTES[math]
        yield query.SCREEN, case_of(line, query.IMAGES, "uint8"), query.IMAGES * seconds
    for first, seconds in {2: 200e-6, 3: 100e-6, 4: 130e-6}.items():
        yield query.SPLITS, case_of(rungs.split(first), SOME), SOME * seconds
    for variant, seconds in PRODUCTS.items():
        yield query.PRODUCTS, Case("gemm", variant, complete("gemm", query.SQUARE), {}), seconds
    for cards in CALL:
        for images in IMAGES:
            yield query.CARDS, case_of(rungs.on_cards(cards), images, **BY_VERB), on_cards(images, cards)
            of_fewer = 1 if images == query.IMAGES else 1.5  # times as long as threads
            yield query.RANKS, case_of(rungs.on_ranks(cards), images), on_cards(images, cards) * of_fewer
        yield query.PAGEABLE, case_of(rungs.pageable_on_cards(cards), query.IMAGES), on_cards(query.IMAGES, 1)
        if cards != 2:
            half = case_of(rungs.half_on_cards(cards), query.IMAGES, graph="on")
            yield query.HALF, half, on_cards(query.IMAGES, 1) / 5
        yield query.GRAPH, case_of(rungs.graph_on_cards(cards), query.IMAGES, **BY_VERB), by_graph(query.IMAGES, cards)
        tapered = case_of(rungs.tapered_on_cards(cards), query.IMAGES, **BY_VERB)
        yield query.GRAPH, tapered, on_cards(query.IMAGES, cards) * (2 if cards > 1 else 1)
        every, own = cards * query.IMAGES, {rungs.graph_on_cards: by_graph}
        for line in (rungs.on_cards, rungs.graph_on_cards, rungs.on_ranks) if cards > 1 else ():
            yield query.WEAK, case_of(line(cards), every), own.get(line, on_cards)(every, cards)


def on_cards(images, cards):
    """Seconds of a call on some cards."""
    return CALL[cards] * (images < 200) + images * PICTURE["home"] / cards


def by_graph(images, cards):
    """The same with a graph for each card, which lets several do four fifths of what they would."""
    return on_cards(images, cards) * (1.25 if cards > 1 else 1)


def tables(machine=MACHINE, processes=6, chosen=None):
    """The tables of all experiments, or of the chosen (experiment, case, seconds)."""
    found = {}
    for experiment, case, seconds in chosen if chosen is not None else cases():
        parts = found.setdefault(experiment, {name: [] for name in collect.TABLES})
        rows = made_up.case_rows(machine, experiment, case, seconds, processes, 2)
        for row in rows:
            if case.workload == "dcgan" and case.variant not in ("host", "pytorch"):
                row["joules"] = JOULES * case.sizes["images"]
                row["sustained"] = 1.1 * seconds if case.variant == "home" else seconds
                row["cold_start"] = START[case.tuning.get("gpus", 1)] + seconds
        parts["samples"] += rows
        if case.variant in ("host", "cuda"):
            shares = SHARES.items()
            parts["samples"] += [
                row | {"phase": name, "seconds": row["seconds"] * share} for row in rows for name, share in shares
            ]
        if case.variant == "cuda":
            parts["samples"] += [row | {"phase": "to host", "seconds": LINK * case.sizes["images"]} for row in rows]
    return {
        name: {table: stored.with_integers(pd.DataFrame(rows)) for table, rows in parts.items()}
        for name, parts in found.items()
    }


def ceilings(machine=MACHINE):
    """The tables of ceilings, by seconds: products on threads and on the card, by precision."""
    products = complete("gemm", {"form": "nn", "m": 4096, "n": 4096, "k": 4096, "dtype": "float32"})
    flops = 2 * 4096**3
    chosen = [
        ("ceiling_gpu_arithmetic", Case("gemm", "cublas", products, {"math": "default"}, "warm"), flops / 50e12),
        ("ceiling_gpu_tf32", Case("gemm", "cublas", products, {"math": "tf32"}, "warm"), flops / 400e12),
    ]
    for threads in THREADS:
        case = Case("gemm", "blas", products, {"threads": threads}, "warm")
        chosen.append(("ceiling_arithmetic", case, flops / 1e11 / threads))
    return made_up.tables(machine, chosen=chosen)


def study(machine=MACHINE, **choices):
    """A study of one machine with its card."""
    return Study(tables(machine, **choices) | ceilings(machine), machine, {machine: made_up.description()})
