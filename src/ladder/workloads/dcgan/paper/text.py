"""Functions of this chapter's text beside those of every chapter."""

from ladder.report import latex, ratios
from ladder.report.study import energy, middle, one_case, sustained, values
from ladder.report.telling.chapter_study import required
from ladder.report.telling.lines import select
from ladder.workloads.dcgan import cost, layout
from ladder.workloads.dcgan.paper import cards, lines, tables

SIDE, TAPS = layout.SIDE, layout.TAPS
FLOPS = cost(lines.ALL | {"seed": 1}).flops / lines.IMAGES  # of a picture
WITH_ZEROS = 2 * layout.LATENT * layout.FIRST**2 * layout.FULL  # FLOPs of a picture if zeros are inserted
WITH_ZEROS += 2 * sum((2 * h * TAPS) ** 2 * c * k for h, c, k in layout.layers(layout.FULL))
BYTES = 4 * lines.IMAGES * SIDE**2 * layout.COLOURS


def picture_rate(study, selection):
    """Pictures per second."""
    return latex.number(1 / middle(study.rows(selection)), 2)


def call_time(study, selection):
    """The median time of a call for all pictures."""
    rows = study.rows(selection)
    return latex.seconds(middle(rows) * int(rows["images"].iloc[0]), 3)


def picture_energy(study, selection):
    """The energy of a picture."""
    rows = study.rows(selection)
    return latex.joules(required(energy(rows)) / int(rows["images"].iloc[0]), 2)


def time_share(study, part, whole, at_power_limit=False):
    """The time of a selection as a share of that of another, by single runs or in a sequence at the power limit."""
    rows = map(study.rows, (part, whole))
    return ratios.efficiency(ratios.of(*(map(sustained, rows) if at_power_limit else rows)), 1)


def kernels_in_batches(study):
    """The kernels of the copies in TF32, in the same batches, without the copies."""
    return select("brought", **lines.TAPERED, graph="on")


def products_by_zero(study, method):
    """The time of all layers but the last by gathered products with zeros, over that by another method."""
    gathered, other = (required(tables.layers_time(study, name)) for name in (tables.GATHERED, method))
    return ratios.short(gathered / other)


def most_cards(study):
    """The largest number of GPUs, if above two."""
    count = max(values(study.frame("threads"), "gpus"), default=0)
    return required(count if count > 2 else None)


def efficiency_on(study, way, source, count):
    """The parallel efficiency of a way to draw all pictures on so many GPUs."""
    return ratios.efficiency(study.ratio(*(cards.on_cards(way, source, number) for number in (1, count))), count)


def weak_efficiency(study, way, source, count):
    """The time of one GPU over that of several for as many times the pictures."""
    one, more = (cards.on_cards(way, source, number, number * lines.IMAGES) for number in (1, count))
    return ratios.efficiency(study.ratio(one, more), 1)


def pays(study, source, count, with_start=False):
    """The number of pictures from which so many GPUs are faster than half as many, as a predicate."""
    return cards.predicate(cards.points(study, source, count, cards.starts if with_start else one_case))
