"""The numbers of the chapter, about the machine or the two that it speaks of."""

from ladder.report import machines_table, ratios, verdict_table
from ladder.report.latex import number, percent, seconds
from ladder.workloads.dcgan import cost, layout
from ladder.workloads.dcgan.paper import earlier, model, query, rungs, tables, verdicts

AGAINST = (
    ("parity", "loops"),
    ("tuned", "blas"),
    ("card-parity", "naive"),
    ("three", "two"),
    ("four", "three"),
    ("window", "four"),
    ("window", "peer"),
    ("tf32", "window"),
    ("tf32", "peer-tf32"),
    ("float16", "tf32"),
    ("float16", "peer-float16"),
    ("home", "peer-home"),
    ("home-tf32", "peer-home-tf32"),
    ("home-float16", "peer-home-float16"),
)
NAMES = {
    "blas": "with BLAS and loops at the right parity",
    "naive": "with the naive kernel",
    "two": "with two",
    "three": "with three",
    "four": "with tiles for all four layers",
    "window": "in float32",
    "tf32": "in TF32",
    "peer": "PyTorch by cuDNN, tuned and compiled",
    "loops": "with the branch",
}
BATCHES = (1, 16, 100, 256, 1280, 5248)


def numbers(found):
    """Every key's value."""
    host, card = query.chosen(found)
    groups = verdicts.of_the_earlier_study(host, card), verdicts.of_the_rungs(host, card)
    parts = {
        "machine": machines_table.named(host.found, card.found),
        "problem": problem(),
        "earlier": of_the_earlier_study(),
        "ladder": ladder(host, card),
        "batch": batches(card),
        "parts": layers(card),
        "verdicts": verdict_table.numbers_of_groups(earlier=groups[0], rungs=groups[1]),
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
        "bytes": f"\\qty{{{4 * query.IMAGES * layout.SIDE**2 * layout.COLOURS / 1e6:.0f}}}{{MB}}",
    }


def square(side):
    """Rows and columns in text."""
    return f"${side} \\times {side}$"


def of_the_earlier_study():
    """Its times."""
    return {
        "parity": ratios.times(earlier.PARITY_GAIN),
        "batch": number(earlier.BATCH),
        "small": seconds(earlier.ONE_EACH[10], 2),
        "all": seconds(earlier.ONE_EACH[5248], 3),
        "copy": seconds(earlier.COPY_OF_1000, 2),
    }


def timed(rows):
    """The seconds of a picture, or None."""
    found = query.middle(tables.one_case(rows))
    return None if found is None else seconds(found, 3)


def ladder(host, card):
    """The time of a picture and of a call by each line, pictures a second, and what one is of another."""
    cases = {}
    for key, (line, _) in rungs.LINES.items():
        found = host if line.variant in ("host", "pytorch") else card
        cases[key] = tables.one_case(line.rows(found.ladder))
    values = {f"{key}/time": timed(rows) for key, rows in cases.items()}
    for key, rows in cases.items():
        middle = query.middle(rows)
        values[f"{key}/rate"] = number(1 / middle, 2) if middle else None
        values[f"{key}/call"] = seconds(middle * int(rows["images"].iloc[0]), 3) if middle else None
    for one, other in AGAINST:
        name = NAMES.get(other, "PyTorch")
        values[f"{one}/against/{other}"] = ratios.compared(ratios.of(cases[other], cases[one]), name)
    for key in ("tuned", "window", "tf32", "float16"):
        rows = cases[key]
        found = host if key == "tuned" else card
        least = model.floor(rows.iloc[0], model.rate_of_study(found.found, rows.iloc[0])) if len(rows) else None
        values[f"{key}/share"] = percent(least / query.middle(rows), 2) if least else None
    return values


def batches(card):
    """The time of a picture by images in a batch."""
    values = {f"{batch}/images": f"\\num{{{batch}}}" for batch in BATCHES}
    return values | {f"{batch}/time": timed(rungs.batches(batch).rows(card.ladder)) for batch in BATCHES}


def layers(card):
    """The shares of the layers on the card, in float32 and on tensor cores."""
    values = {}
    for key in ("window", "float16"):
        rows = tables.one_case(rungs.line(key).rows(card.ladder))
        times = query.parts(rows, card.phases)
        whole = sum(times.values())
        for part in query.PARTS:
            values[f"{key}/{part.replace(' ', '-')}"] = percent(times[part] / whole, 2) if part in times else None
    return values
