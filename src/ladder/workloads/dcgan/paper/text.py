"""What this chapter's text asks for beside what every chapter's may."""

from ladder.report import latex, ratios
from ladder.report.latex import num
from ladder.report.study import energy, middle, one_case, sustained, values
from ladder.report.telling.chapter_study import NotMeasured, parts
from ladder.report.telling.lines import select
from ladder.workloads.dcgan import cost, layout
from ladder.workloads.dcgan.paper import cards, claims, earlier, lines, tables


def problem(study, name):
    """Work and sizes of the network and of all pictures."""
    every = cost(lines.ALL | {"seed": 1})
    zeros = layout.LATENT * layout.FIRST**2 * layout.FULL
    zeros += sum((2 * h * layout.TAPS) ** 2 * c * k for h, c, k in layout.layers(layout.FULL))  # with zeros inserted
    pixels = layout.SIDE**2 * layout.COLOURS
    return {
        "images": num(lines.IMAGES),
        "channels": num(layout.FULL),
        "pixels": f"${layout.SIDE} \\times {layout.SIDE}$",
        "filter": f"${layout.TAPS} \\times {layout.TAPS}$",
        "flops": f"\\qty{{{every.flops / lines.IMAGES / 1e6:.0f}}}{{MFLOP}}",
        "zeros": claims.short(2 * zeros * lines.IMAGES / every.flops),
        "bytes": f"\\qty{{{4 * lines.IMAGES * pixels / 1e6:.0f}}}{{MB}}",
    }[name]


def earlier_study(study, name):
    """What the earlier study reported."""
    return {
        "parity": ratios.times(earlier.PARITY_GAIN),
        "batch": num(earlier.BATCH),
        "small": latex.seconds(earlier.CALLS[2][10], 2),
        "all": latex.seconds(earlier.CALLS[2][lines.IMAGES], 3),
        "copy": latex.seconds(earlier.COPY_OF_1000, 2),
        "one up to": num(earlier.ONE_UP_TO),
        "two up to": num(earlier.TWO_UP_TO),
    }[name]


def picture_time(study, selection):
    """The median time of a picture."""
    return latex.seconds(middle(study.rows(selection)), 3)


def picture_rate(study, selection):
    """Pictures a second."""
    return latex.number(1 / middle(study.rows(selection)), 2)


def call_time(study, selection):
    """The median time of a call for all pictures."""
    rows = study.rows(selection)
    return latex.seconds(middle(rows) * int(rows["images"].iloc[0]), 3)


def picture_energy(study, selection):
    """The energy of a picture."""
    rows = study.rows(selection)
    joules = energy(rows)
    if joules is None:
        raise NotMeasured
    return latex.joules(joules / int(rows["images"].iloc[0]), 2)


def images(study, source):
    """The most images of a source."""
    return num(max(values(study.frame(source), "images"))) if len(study.frame(source)) else None


def layer_share(study, selection, name):
    """The share of a layer in the time of a picture, where the layers add up to it."""
    times = parts(study.rows(selection), study.phases(selection))
    return latex.percent(times[name] / sum(times.values()), 2) if name in times else None


def time_share(study, part, whole, at_power_limit=False):
    """What share of the time of one selection another takes, by single runs or among many that follow each other."""
    rows = map(study.rows, (part, whole))
    return ratios.efficiency(ratios.of(*(map(sustained, rows) if at_power_limit else rows)), 1)


def kernels_in_batches(study):
    """The kernels of the copies in TF32, in the same batches, without the copies."""
    return select("brought", **lines.TAPERED, graph="on")


def all_at_once(study, math):
    """The fastest kernels with all pictures in one batch."""
    return claims.kernels(math)


def products_by_zero(study, method):
    """The time of all layers but the last by gathered products with zeros, over that by another method."""
    gathered, other = (tables.layers_time(study, name) for name in (tables.GATHERED, method))
    return claims.short(gathered / other) if gathered and other else None


def most_cards(study):
    """The most GPUs that have drawn, where these are more than two."""
    count = max(values(study.frame("threads"), "gpus"), default=0)
    if count <= 2:
        raise NotMeasured
    return count


def efficiency_on(study, way, source, count):
    """The parallel efficiency of a way to draw all pictures on so many GPUs."""
    return ratios.efficiency(study.ratio(*(cards.on_cards(way, source, one) for one in (1, count))), count)


def weak_efficiency(study, way, source, count):
    """The time of one GPU over that of several for as many times the pictures."""
    one, more = (cards.on_cards(way, source, number, number * lines.IMAGES) for number in (1, count))
    return ratios.efficiency(study.ratio(one, more), 1)


def pays(study, source, count, with_start=False):
    """From how many pictures on so many GPUs are faster than half as many, as a predicate."""
    return cards.predicate(cards.points(study, source, count, cards.starts if with_start else one_case))
