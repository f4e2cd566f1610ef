"""What this chapter's text asks for beside what every chapter's may: matrices, phases of products, sending once."""

import math

from ladder.report import latex, ratios, rates
from ladder.report.latex import num
from ladder.report.study import middle, values, where
from ladder.report.telling import amortisation
from ladder.report.telling.chapter_study import NotMeasured, parts, whole
from ladder.report.telling.claims import short
from ladder.report.telling.lines import select
from ladder.workloads.gemv import cost
from ladder.workloads.gemv.paper import claims, lines, model

STRANGE = 10  # times as long, for what a tree of messages to a few times as many ranks doesn't explain
STREAMS = "ceiling_bandwidth"


def matrix(study, name):
    """The size of a matrix."""
    return "${n} \\times {m}$".format(**lines.SIZES[name])


def intensity(study):
    """FLOPs for a byte."""
    whole = cost(lines.SIZES["large"] | {"seed": 1, "dtype": lines.DTYPE})
    return latex.number(whole.flops / whole.bytes, 2)


def passes(study):
    """How many times a matrix that is sent passes through the memory."""
    return num(1 + model.COPIES)


def cards(study):
    """The most cards of any machine."""
    most = max(values(study.frame("most cards"), "ranks"), default=None)
    return most and num(most)


def memory_threads(study):
    """The most threads with a bandwidth."""
    return most_threads(study) and num(most_threads(study))


def most_threads(study):
    """The same as a number, or None."""
    return max(values(study.machine("host").samples(STREAMS), "threads"), default=None)


def memory(study):
    """The bandwidth of the host on these."""
    return bandwidth(rates.bandwidths(study.machine("host")).get(most_threads(study)))


def reading(study):
    """The median rate of reading alone on these."""
    rows = study.machine("host").samples(STREAMS, kernel="read", threads=most_threads(study))
    return bandwidth(rows["bytes"].iloc[0] / middle(rows) if len(rows) else None)


def gpu_memory(study):
    """The bandwidth of a card's memory."""
    return bandwidth(rates.card_bandwidth(study.machine("card")))


def link(study):
    """The rate of the link to a card."""
    return bandwidth(rates.link(study.machine("cards")))


def bandwidth(rate):
    """A rate in B/s; None stays None."""
    return rate and latex.rate(rate, "bandwidth", 2)


def binding_alone(study):
    """What binding gains where no memory is far."""
    if not claims.has_one_memory(study.machine("host")):
        raise NotMeasured
    return ratios.prose(study.ratio("openmp", "spread"))


def half(study):
    """Ranks that keep their rows, on the number below the most."""
    counts = values(where(study.frame("ranks"), variant="mpi", mode="resident"), "ranks")
    if len(counts) < 2:
        raise NotMeasured
    return select("resident", "ranks", ranks=counts[-2])


def slower_broadcast(study):
    """How many times as long the broadcast takes on the most ranks as on fewer, where that is out of all proportion."""
    pair = [where(study.phases(one), phase="broadcast") for one in (select("resident", "ranks"), half(study))]
    ratio = ratios.of(*pair)
    return short(ratio) if ratio and ratio.value > STRANGE else None


def beyond(study, selection):
    """How many times the call all phases take, where they don't add up to it."""
    rows, phases = study.rows(selection), claims.phases_of_product(study, selection)
    return None if parts(rows, phases) else ratios.times(latex.digits(whole(rows, phases), 2))


def break_even(study, key, name):
    """What a sentence says of sending a matrix once."""
    point = amortised(study, *contests(**lines.SIZES["ranks"])[key])
    if point is None:
        raise NotMeasured
    if point.value is None:
        return f"isn't shown to pay against {name}"
    if point.value == math.inf:
        return f"never pays against {name}"
    count = "with the first product" if not point.value else f"after {amortisation.text(point)} products"
    return f"pays against {name} {count}"


def contests(**size):
    """Whose matrix of a size stays, and whose time that is held against, {key: both}."""
    kept, threads = select("resident", "ranks, all sizes", **size), select("openmp", "ranks, all sizes", **size)
    return {
        "ranks": (kept, select("resident", "ranks, all sizes", ranks=1, **size)),
        "ranks, threads": (kept, threads),
        "cards, threads": (select("graph", "cards, all sizes", **size), threads),
    }


def amortised(study, kept, other):
    """After how many products the sending has paid; None if one of them wasn't measured."""
    once = where(study.phases(kept), phase="scatter")
    return amortisation.break_even(study.find(kept), once, study.find(other))
