"""A study of the generator with times made up by rule: of rungs on host and card, batches and ways home."""

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.report import collect, stored
from ladder.report.study import Study
from ladder.report.telling.chapter_study import selection_of
from ladder.report.telling.lines import MAX, UNSTATED, select
from ladder.workloads.dcgan import formats
from ladder.workloads.dcgan.paper import cards, claims, lines, text
from ladder.workloads.dcgan.paper.lines import IMAGES, LINES
from ladder.workloads.dcgan.paper.tables import COPIES

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
EXPERIMENTS = {"host": lines.HOST, "pytorch": lines.HOST, "home": lines.HOME, "pytorch_home": lines.HOME}
# Seconds of a call for no picture, and of a process's start, by cards; those of a rank are the same.
CALL, START = {1: 0.5e-3, 2: 1e-3, 4: 2e-3}, {1: 0.4, 2: 0.7, 4: 1.3}
NUMBERS, SOME = (10, 100, 200, 1000, IMAGES), 1000  # of pictures
PRODUCTS = {"cuda_shared": 10e-3, "cuda_columns": 5e-3, "cuda_tiled": 2e-3}  # seconds
BY_VERB = formats.VARIANTS["offload"][1]
JOULES = 5e-3  # of a picture on a card


def case_of(selection, images=IMAGES, pictures="float32", **others):
    """The case of a selection, with what it doesn't state left out."""
    selection = selection_of(selection)
    line = selection.changed(LINES[selection.line])
    tuning = {name: value for name, value in (line.tuning | others).items() if value not in (UNSTATED, MAX)}
    sizes = complete("dcgan", {"images": tuning.pop("images", images), "channels": 512, "pictures": pictures})
    return Case("dcgan", line.variant, sizes, tuning, "cold" if images == lines.ON_HOST else "warm")


def cases():
    """(experiment, case, seconds) of all experiments."""
    for key, seconds in PICTURE.items():
        line = LINES[key]
        images = lines.ON_HOST if line.source == "host" else IMAGES
        for threads in THREADS if line.tuning.get("threads") == MAX else (None,):
            if (key, threads) != ("parity-threads", 1):  # which is `parity`
                case = case_of(key, images, **({"threads": threads} if threads else {}))
                yield EXPERIMENTS.get(line.variant, lines.CARD), case, images * seconds / (threads or 1)
    forms = [(select("window", batch=batch), 64e-6 / batch) for batch in (1, 16, 100, 256)]
    forms += [(select("window", epilogue=name), EPILOGUES[name]) for name in ("separate", "folded")]
    forms += [(select("window", graph="on"), EPILOGUES["graph"]), (text.kernels_in_batches(None), IN_BATCHES)]
    forms += [(claims.kernels(math), seconds) for math, seconds in AT_ONCE.items()]
    for selection, seconds in forms:
        yield lines.CARD, case_of(selection), IMAGES * seconds
    for memory, longer in WAYS.items():
        for copies in COPIES:
            for math, seconds in (("float32", 6e-6), ("float16", 1e-6)):
                case = case_of(claims.copied(memory, copies, math))
                yield lines.HOME, case, IMAGES * seconds * longer * (2 if copies == "after" else 1)
    for math, seconds in SCREEN.items():
        yield lines.SCREEN, case_of(select("screen", math=math), pictures="uint8"), IMAGES * seconds
    for first, seconds in {2: 200e-6, 3: 100e-6, 4: 130e-6}.items():
        yield lines.SPLITS, case_of(claims.split(first), SOME), SOME * seconds
    for variant, seconds in PRODUCTS.items():
        yield lines.PRODUCTS, Case("gemm", variant, complete("gemm", lines.SQUARE), {}), seconds
    yield from several()


def several():
    """Those on one card and more."""

    def case(way, images=IMAGES, **others):
        return case_of(cards.on_cards(way, "most", count, images), **others)

    for count in CALL:
        for images in NUMBERS:
            yield lines.CARDS, case("threads", images, **BY_VERB), on_cards(images, count)
            of_fewer = 1 if images == IMAGES else 1.5  # times as long as threads
            yield lines.RANKS, case("ranks", images), on_cards(images, count) * of_fewer
        yield lines.PAGEABLE, case("pageable"), on_cards(IMAGES, 1)
        if count != 2:
            yield lines.HALF, case("half", graph="on"), on_cards(IMAGES, 1) / 5
        yield lines.GRAPH, case("graph", **BY_VERB), by_graph(IMAGES, count)
        yield lines.GRAPH, case("tapered", **BY_VERB), on_cards(IMAGES, count) * (2 if count > 1 else 1)
        for way, seconds in {"threads": on_cards, "graph": by_graph, "ranks": on_cards}.items() if count > 1 else ():
            yield lines.WEAK, case(way, count * IMAGES), seconds(count * IMAGES, count)


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
