"""Several GPUs: their times with the start of a process and without, and the number of pictures from which they pay."""

from ladder.report import ratios
from ladder.report.latex import num
from ladder.report.study import of_processes, values, where
from ladder.report.telling.chapter_study import required
from ladder.report.telling.lines import select
from ladder.statistics import crossings
from ladder.statistics.verdicts import UNDECIDED
from ladder.workloads.dcgan.paper.lines import IMAGES


def on_cards(way, source, count, images=IMAGES):
    """A way to draw on so many GPUs."""
    return select(way, source, **{"ranks" if way == "ranks" else "gpus": count}, images=images)


def starts(rows):
    """The seconds of each process's start and first call; none where they weren't recorded."""
    return of_processes(rows, "cold_start")


def points(study, source, count, prepare):
    """[(pictures, ratio)] of so many GPUs over half as many, for all numbers of pictures that both have drawn.

    `prepare` is applied to the rows of a case.
    """
    counts = (count, count // 2)
    drawn = (values(where(study.frame(source), variant="home", gpus=number), "images") for number in counts)
    sizes = sorted(set.intersection(*map(set, drawn)))
    sides = [[study.find(on_cards("threads", source, number, size)) for number in counts] for size in sizes]
    return [(size, ratios.of(*map(prepare, pair))) for size, pair in zip(sizes, sides, strict=True)]


def predicate(points):
    """The number of pictures from which more GPUs pay, for a sentence; some points may have no ratio."""
    points = [(size, ratio) for size, ratio in points if ratio]
    crossing = required(crossings.break_even(points))
    if not isinstance(crossing, str):
        return f"pay from {ratios.size(*crossing)} pictures on"
    span = f"from {num(points[0][0])} to {num(points[-1][0])} pictures"
    return {
        crossings.EVERYWHERE: f"pay at every number {span}",
        crossings.NOWHERE: f"pay at no number {span}",
        UNDECIDED: f"are not significantly faster at any number {span}",
    }[crossing]
