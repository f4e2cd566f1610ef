"""The numbers of the chapter, about the machine or the two that it speaks of."""

import itertools

from ladder.report import machines_table, ratios, study, verdict_table
from ladder.report.latex import code, digits, joules, number, percent, seconds
from ladder.statistics import crossings
from ladder.statistics.verdicts import UNDECIDED
from ladder.workloads.dcgan import cost, layout
from ladder.workloads.dcgan.paper import earlier, query, rungs, tables, verdicts

AGAINST = (
    ("parity", "loops"),
    ("tuned", "blas"),
    ("mixed", "tuned"),
    ("mixed", "pytorch"),
    ("card-parity", "naive"),
    ("three", "two"),
    ("four", "three"),
    ("window", "four"),
    ("window", "peer"),
    ("tf32", "window"),
    ("float16", "tf32"),
    ("brought", "float16"),
    ("home", "peer-home"),
    ("home-brought-tf32", "peer-home-tf32"),
    ("home-brought", "peer-home-float16"),
    ("home-brought-tf32", "home-tf32"),
    ("home-brought", "home-float16"),
)
NAMES = {
    "tuned": "with these in all layers",
    "blas": "with BLAS and loops at the right parity",
    "naive": "with the naive kernel",
    "two": "with two",
    "three": "with three",
    "four": "with tiles for all four layers",
    "window": "in float32",
    "tf32": "in TF32",
    "float16": "without",
    "home-tf32": "two streams with the other tiles",
    "home-float16": "two streams with the other tiles",
    "peer": "PyTorch by cuDNN, tuned and compiled",
    "loops": "with the branch",
    "pytorch": "PyTorch on as many threads",
}
ENERGY = ("window", "tf32", "float16", "brought")
BATCHES = (1, 16, 256, 5248)


def numbers(found):
    """Every key's value."""
    host, card = query.chosen(found)
    several, most = query.with_most_cards(found)
    parts = {
        "machine": machines_table.named(host.found, card.found),
        "problem": problem(),
        "earlier": of_the_earlier_study(),
        "ladder": ladder(host, card),
        "batch": batches(card),
        "shares": shares(card),
        "epilogues": epilogues(card),
        "splits": splits(card),
        "energy": energy(card),
        "hidden": hidden(card),
        "screen": screen(query.with_screen(found)),
        "cards": two_cards(query.with_cards(found, 2)),
        "cards-table": {"machine": machine_of(found.of(None) if most < 2 else several.found)},
        "most-cards": most_cards(several, most),
        "layers": layers(query.with_layers(found)),
        "registers": {"machine": machine_of(verdicts.with_products(found))},
        "verdicts": verdict_table.numbers_of_groups(**verdicts.verdicts(found)),
    }
    return {f"dcgan/{part}/{key}": value for part, values in parts.items() for key, value in values.items()}


def problem():
    """Work and size of a picture, and of all."""
    every = cost({"images": query.IMAGES, **query.SIZE, "seed": 1})
    return {
        "images": f"\\num{{{query.IMAGES}}}",
        "channels": number(query.SIZE["channels"]),
        "pixels": square(layout.SIDE),
        "filter": square(layout.TAPS),
        "flops": f"\\qty{{{every.flops / query.IMAGES / 1e6:.0f}}}{{MFLOP}}",
        "zeros": ratios.times(digits(with_zeros(query.SIZE["channels"]) * query.IMAGES / every.flops, 2)),
        "bytes": f"\\qty{{{4 * query.IMAGES * layout.SIDE**2 * layout.COLOURS / 1e6:.0f}}}{{MB}}",
    }


def with_zeros(channels):
    """FLOPs of a picture by products of inputs with zeros inserted."""
    products = layout.LATENT * layout.FIRST**2 * channels
    products += sum((2 * h * layout.TAPS) ** 2 * c * k for h, c, k in layout.layers(channels))
    return 2 * products


def square(side):
    """Rows and columns in text."""
    return f"${side} \\times {side}$"


def of_the_earlier_study():
    """Its times."""
    return {
        "parity": ratios.times(earlier.PARITY_GAIN),
        "batch": number(earlier.BATCH),
        "small": seconds(earlier.CALLS[2][10], 2),
        "one-up-to": number(earlier.ONE_UP_TO),
        "two-up-to": number(earlier.TWO_UP_TO),
        "all": seconds(earlier.CALLS[2][query.IMAGES], 3),
        "copy": seconds(earlier.COPY_OF_1000, 2),
    }


def machine_of(found):
    """The name of a study's machine, or None."""
    return code(found.subject) if found.subject else None


def timed(rows):
    """The seconds of a picture, or None."""
    found = study.middle(tables.one_case(rows))
    return None if found is None else seconds(found, 3)


def ladder(host, card):
    """The time of a picture and of a call by each line, pictures a second, and what one is of another."""
    cases = {}
    for key, (line, _) in rungs.LINES.items():
        found = host if line.variant in ("host", "pytorch") else card
        cases[key] = tables.one_case(line.rows(found.ladder))
    values = {f"{key}/time": timed(rows) for key, rows in cases.items()}
    for key, rows in cases.items():
        middle = study.middle(rows)
        values[f"{key}/rate"] = number(1 / middle, 2) if middle else None
        values[f"{key}/call"] = seconds(middle * int(rows["images"].iloc[0]), 3) if middle else None
    for key in ("window", "home"):
        values[f"{key}/batch"] = f"\\num{{{int(cases[key]['batch'].iloc[0])}}}" if len(cases[key]) else None
    for one, other in AGAINST:
        name = NAMES.get(other, "PyTorch")
        values[f"{one}/against/{other}"] = ratios.compared(ratios.of(cases[other], cases[one]), name)
    return values


def batches(card):
    """The time of a picture by images in a batch."""
    values = {f"{batch}/images": f"\\num{{{batch}}}" for batch in BATCHES}
    return values | {f"{batch}/time": timed(rungs.batches(batch).rows(card.ladder)) for batch in BATCHES}


def shares(card):
    """The shares of the layers on the card, in float32."""
    times = query.parts(tables.one_case(rungs.line("window").rows(card.ladder)), card.phases)
    whole = sum(times.values())
    return {
        f"window/{part.replace(' ', '-')}": percent(times[part] / whole, 2) if part in times else None
        for part in query.PARTS
    }


def epilogues(card):
    """What batch norms in the weights gain, then activations within the layers' kernels, then one graph of all."""
    steps = {one: tables.one_case(line.rows(card.ladder)) for one, line in rungs.EPILOGUES.items()}
    names = {"folded": "one with kernels for them", "fused": "one with kernels for these", "graph": "single launches"}
    pairs = itertools.pairwise(steps.items())
    return {one: ratios.compared(ratios.of(before, rows), names[one]) for (_, before), (one, rows) in pairs}


def splits(card):
    """The time of a picture by the earlier study's splits, and how many pictures were drawn."""
    cases = {first: tables.one_case(rungs.split(first).rows(card.splits)) for first in (2, 3, 4)}
    values = {f"{first}/time": timed(rows) for first, rows in cases.items()}
    for first, name in ((2, "with two layers as products"), (4, "with four")):
        values[f"3/against/{first}"] = ratios.compared(ratios.of(cases[first], cases[3]), name)
    images = study.values(card.splits, "images")
    return values | {"images": f"\\num{{{max(images)}}}" if images else None}


def energy(card):
    """Joules of a picture."""
    return {key: spent(tables.one_case(rungs.line(key).rows(card.ladder))) for key in ENERGY}


def spent(rows):
    """The joules of a picture as text."""
    found = study.energy(rows)
    return None if found is None else joules(found / int(rows["images"].iloc[0]), 2)


def hidden(card):
    """What part of the way home in TF32 its kernels are, in the same batches and in one, by samples and sustained."""
    key = "home-brought-tf32"
    home, same, one = (
        tables.one_case(line.rows(card.ladder))
        for line in (rungs.line(key), rungs.kernels_of(key), rungs.at_once("tf32"))
    )
    found = {"same": ratios.of(same, home), "one": ratios.of(one, home)}
    found["sustained"] = ratios.of(study.sustained(one), study.sustained(home))
    return {name: ratios.efficiency(ratio, 1) for name, ratio in found.items()}


def screen(card):
    """The time of a call for pictures of one byte a number, and what it is of one for float32, by precision."""
    values = {"machine": machine_of(card.found)}
    for math, line in rungs.BYTES.items():
        rows = tables.one_case(line.rows(card.screen))
        floats = tables.one_case(rungs.line(rungs.FLOATS[math]).rows(card.ladder))
        values[f"{math}/call"] = tables.called(rows) if len(rows) else None
        values[f"{math}/against"] = ratios.compared(ratios.of(floats, rows), "one for floats")
    return values


def layers(machine):
    """What products by zero cost: gathered products over others, all but the last layer."""

    def whole(name):
        rows = [tables.rows_of_method(machine.layers, name, h) for h in tables.heights()[:-1]]
        return sum(map(study.middle, rows)) if all(map(len, rows)) else None

    gathered = whole("cuda_im2col, cublas")
    others = {"implicit": whole("cuda_implicit"), "col2im": whole("cuda_col2im, cublas")}
    images = study.values(machine.layers, "images")
    return {
        "machine": machine_of(machine.found),
        "images": f"\\num{{{max(images)}}}" if images else None,
        **{key: ratios.times(digits(gathered / one, 2)) if gathered and one else None for key, one in others.items()},
    }


def two_cards(several):
    """What two cards do of twice as much as one, and when they pay with the start of a process, too."""
    begun = [(images, verdicts.begun(several, 2, 1, images)) for images in of_both(several, 1, 2)]
    return {"pays/start": paying(begun), **cards(several, 2)}


def most_cards(several, count):
    """What the most cards do that have drawn; nothing where these are two or fewer."""
    several, count = (several, count) if count > 2 else (query.Machine(several.found.of(None)), 0)
    counts = {"count": count, "fewer": count // 2}
    return {key: f"\\num{{{one}}}" if count else None for key, one in counts.items()} | cards(several, count)


def cards(several, count):
    """What part of `count` times as much as one so many cards do, and when they pay over half as many."""
    half = count // 2
    calls = [(images, verdicts.called(several, count, half, images)) for images in of_both(several, half, count)]
    tapered = {"tapered": rungs.tapered_on_cards}
    lines = {"threads": rungs.on_cards, "graph": rungs.graph_on_cards, "ranks": rungs.on_ranks}
    return {
        "machine": machine_of(several.found),
        "pays/call": paying(calls),
        **{key: efficiency(several, line, count) for key, line in (lines | tapered).items()},
        **{f"weak-{key}": weak(several, line, count) for key, line in lines.items()},
    }


def of_both(several, *counts):
    """The numbers of pictures that both numbers of cards have drawn."""
    images = (study.values(rungs.on_cards(count).rows(several.several), "images") for count in counts)
    return sorted(set.intersection(*map(set, images)))


def paying(points):
    """From how many pictures on more cards pay, of (pictures, time of these over that of fewer), as a predicate."""
    points = [(images, ratio) for images, ratio in points if ratio]
    found = crossings.break_even(points)
    if found is None:
        return None
    span = f"from \\num{{{points[0][0]}}} to \\num{{{points[-1][0]}}} pictures"
    words = {
        crossings.EVERYWHERE: f"pay at every number {span}",
        crossings.NOWHERE: f"pay at no number {span}",
        UNDECIDED: f"are not shown to be faster at any number {span}",
    }
    return words[found] if isinstance(found, str) else f"pay from {ratios.size(*found)} pictures on"


def efficiency(several, line, count):
    """The pictures a second of `count` cards over `count` times those of one."""
    return ratios.efficiency(verdicts.called(several, 1, count, query.IMAGES, line), count)


def weak(several, line, count):
    """The time of one card over that of `count` for as many times the pictures."""
    calls = {one: line(one).rows(several.several) for one in (1, count)}
    found = ratios.of(*(study.where(rows, images=one * query.IMAGES) for one, rows in calls.items()))
    return ratios.efficiency(found, 1)
