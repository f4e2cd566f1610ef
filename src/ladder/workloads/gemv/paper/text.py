"""What this chapter's text asks for beside what every chapter's may."""

from ladder.report import latex, ratios
from ladder.report.study import values, where
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.claims import short
from ladder.report.telling.lines import select
from ladder.workloads.gemv import cost
from ladder.workloads.gemv.paper import claims, lines, model

STRANGE = 10  # times as long, for what a tree of messages to a few times as many ranks doesn't explain


def matrix(study, name):
    """The size of a matrix."""
    return "${n} \\times {m}$".format(**lines.SIZES[name])


def intensity(study):
    """FLOPs for a byte."""
    product = cost(lines.SIZES["large"] | {"seed": 1, "dtype": lines.DTYPE})
    return latex.number(product.flops / product.bytes, 2)


def passes(study):
    """How many times a matrix that is sent passes through the memory."""
    return latex.num(1 + model.COPIES)


def binding_alone(study):
    """What binding gains where no memory is far."""
    if not claims.has_one_memory(study.machine("host")):
        raise NotMeasured
    return ratios.prose(study.ratio("openmp", "spread"))


def fewer_ranks(study):
    """Ranks that keep their rows, on the number below the most."""
    counts = values(where(study.frame("ranks"), variant="mpi", mode="resident"), "ranks")
    if len(counts) < 2:
        raise NotMeasured
    return select("resident", "ranks", ranks=counts[-2])


def slower_broadcast(study):
    """How many times as long the broadcast takes on the most ranks as on fewer, where that is out of all proportion."""
    pair = [where(study.phases(one), phase="broadcast") for one in (select("resident", "ranks"), fewer_ranks(study))]
    ratio = ratios.of(*pair)
    return short(ratio) if ratio and ratio.value > STRANGE else None
