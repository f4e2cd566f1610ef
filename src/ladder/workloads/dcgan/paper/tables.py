"""The tables of the chapter: the ladder, layers by method, the ways home, one and more cards, and the verdicts."""

from ladder.report import ladder_table, latex, ratios, study, verdict_table
from ladder.report.cells import NONE
from ladder.report.latex import code, digits
from ladder.statistics import claims
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.paper import earlier, model, query, rungs, verdicts

# Methods of a layer: {name: (variant, tuning)}.
METHODS = {
    "cuda_parity": ("cuda_parity", {}),
    "cuda_im2col, cuda_columns": ("cuda_im2col", {"product": "cuda_columns"}),
    "cuda_im2col, cublas": ("cuda_im2col", {"product": "cublas"}),
    "cuda_col2im, cublas": ("cuda_col2im", {"product": "cublas"}),
    "cuda_implicit": ("cuda_implicit", {}),
    "cuda_window": ("cuda_window", {}),
    "pytorch_cuda": ("pytorch_cuda", {"math": "default"}),
    "cuda_implicit_wgmma, TF32": ("cuda_implicit_wgmma", {"math": "tf32"}),
    "cuda_implicit_tma, TF32": ("cuda_implicit_tma", {"math": "tf32"}),
    "cuda_window_mma, TF32": ("cuda_window_mma", {"math": "tf32"}),
    "pytorch_cuda, TF32": ("pytorch_cuda", {"math": "tf32"}),
    "cuda_implicit_wgmma, half": ("cuda_implicit_wgmma", {"math": "float16"}),
    "cuda_implicit_tma, half": ("cuda_implicit_tma", {"math": "float16"}),
    "cuda_window_mma, half": ("cuda_window_mma", {"math": "float16"}),
    "pytorch_cuda, half": ("pytorch_cuda", {"math": "float16"}),
}
# Ways of several cards to draw: {name: the line of a number of cards}.
WAYS = {
    "threads": rungs.on_cards,
    "threads, a graph each": rungs.graph_on_cards,
    "threads, a graph each, tapered": rungs.tapered_on_cards,
    "ranks": rungs.on_ranks,
    "threads, pageable memory": rungs.pageable_on_cards,
    "threads, half precision, a graph each": rungs.half_on_cards,
}


def tables(found):
    """Every table's LaTeX by its name."""
    host, card = query.chosen(found)
    most = query.with_most_cards(found)
    return {
        "ladder": ladder(host, card),
        "layers": layers(query.with_layers(found)),
        "home": home(card),
        "cards": cards(*most),
        "most_cards": most_cards(*most),
        "verdicts": verdict_table.table(*verdicts.verdicts(found).values()),
    }


def ladder(host, card):
    """The rungs of RELIEVES with the time of a picture; the waterfall has peers and other precisions, too.

    A rung that its machine hasn't measured, but others of these, is left out.
    """
    shown = []
    for key, (line, idea) in rungs.LINES.items():
        found = host if line.variant in ("host", "pytorch") else card
        rows = one_case(line.rows(found.ladder))
        if key in rungs.RELIEVES and (len(rows) or found.ladder.empty):
            predicted = None
            if len(rows):
                first = rows.iloc[0]
                predicted = model.seconds(first, model.rate_of_study(found.found, first))
            name = code(line.variant) + (f", {line.words}" if line.words else "")
            shown.append(ladder_table.Rung(name, idea, rungs.RELIEVES.get(key, ""), predicted, rows))
    return ladder_table.table(shown, "Picture")


def one_case(rows):
    """The rows of one case, where a default may be stated or not."""
    return study.where(rows, case=min(rows["case"])) if len(rows) else rows


def home(card):
    """The time of a call with pictures home, by where they go and whether copies are hidden."""
    columns = [(copies, math) for math in ("float32", "float16") for copies in rungs.COPIES]
    cases = {memory: [rungs.home(memory, *column).rows(card.ladder) for column in columns] for memory in rungs.MEMORIES}
    if all(rows.empty for every in cases.values() for rows in every):
        return latex.table("", (), ())
    rows = [[code(memory), *map(called, every)] for memory, every in cases.items()]
    head = ["Memory", "float32, hidden", "after", "float16, hidden", "after"]
    return latex.table("lrrrr", head, rows)


def called(rows):
    """The median time of a call."""
    return latex.seconds(study.middle(rows) * int(rows["images"].iloc[0])) if len(rows) else NONE


def layers(machine):
    """TFLOP/s of every layer by every method, without products by zero."""
    rows = [[code_of(name), *(rate(rows_of_method(machine.layers, name, h)) for h in heights())] for name in METHODS]
    rows = [row for row in rows if set(row[1:]) != {NONE}]
    return latex.table("lrrrr", ["Method", *(f"to ${2 * h} \\times {2 * h}$" for h in heights())], rows)


def heights():
    """Rows of the images before each layer."""
    return [h for h, *_ in layout.layers(layout.FULL)]


def rows_of_method(frame, name, h):
    """The rows of a method at one layer."""
    variant, tuning = METHODS[name]
    return study.where(frame, variant=variant, h=h, **tuning)


def code_of(name):
    """A method's name, of which words of prose are none of code."""
    parts = name.split(", ")
    return ", ".join(part if part in ("TF32", "half") else code(part) for part in parts)


def rate(rows):
    """TFLOP/s of a case."""
    return digits(float(rows["flops"].iloc[0]) / study.middle(rows) / 1e12) if len(rows) else NONE


def cards(machine, most):
    """Times by images of the earlier study: then on cards of two nodes, now of a call, without and with start-up."""
    counts = numbers_of_cards(machine, most) if most > 1 else []
    measured = {one for count in counts for one in study.values(rungs.on_cards(count).rows(machine.several), "images")}
    rows = [cards_of(machine, counts, images) for images in sorted(measured) if images in earlier.CALLS[2]]
    then, now = ([counted(count) for count in own] for own in (earlier.CALLS, counts))
    head = latex.grouped("Pictures", {"then, with start-up": then, "now, a call": now, "now, with start-up": now})
    return latex.table("r" * len(head), head, rows)


def counted(count):
    """A number of cards in words."""
    return "1 card" if count == 1 else f"{count} cards"


def numbers_of_cards(machine, most):
    """One card, so many, and the numbers between that have drawn all pictures."""
    known = study.values(study.where(machine.several, images=query.IMAGES), "gpus")
    return sorted({1, most, *(int(count) for count in known if count < most)})


def most_cards(machine, most):
    """The time of a call on one card and on more, by ways to do it, and how well the most are used."""
    counts = numbers_of_cards(machine, most) if most > 2 else []
    rows = []
    for name, line in WAYS.items():
        cases = [study.where(line(count).rows(machine.several), images=query.IMAGES) for count in counts]
        if any(map(len, cases)):
            times = [latex.seconds(study.middle(one)) if len(one) else NONE for one in cases]
            rows.append([name, *times, ratios.efficiency(ratios.of(cases[0], cases[-1]), most) or NONE])
    head = ["", *map(counted, counts), f"efficiency on {most}"]
    return latex.table("l" + "r" * (len(counts) + 1), head, rows)


def cards_of(machine, counts, images):
    """The cells of so many images."""
    now = [study.where(rungs.on_cards(count).rows(machine.several), images=images) for count in counts]
    then = [latex.seconds(times[images], 3) for times in earlier.CALLS.values()]
    calls = [latex.seconds(study.middle(rows)) if len(rows) else NONE for rows in now]
    begun = [latex.seconds(claims.middle(query.starts(rows)), 2) if query.starts(rows) else NONE for rows in now]
    return [f"\\num{{{images}}}", *then, *calls, *begun]
