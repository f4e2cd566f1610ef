"""Solves by algorithm and size: the lines that stand for algorithms, and where one becomes cheaper than another."""

from ladder.report import ratios
from ladder.report.study import values, where
from ladder.report.telling.chapter_study import required
from ladder.workloads.descent.paper.lines import LINES

NAMES = {"steepest": "steepest descent", "cg": "CG", "direct": "Cholesky"}
# The lines that represent an algorithm in comparisons, on the host and on a GPU, fixed beforehand.
LINES_OF = {
    "host": {"steepest": "blas", "cg": "blas", "direct": "scipy_cholesky"},
    "cuda": {"steepest": "cuda_persistent", "cg": "cuda_persistent", "direct": "cusolver"},
}


def rows_of(solves, device, algorithm, n):
    """The solves of a size by the variant that represents an algorithm."""
    return where(solves, device=device, variant=LINES[LINES_OF[device][algorithm]].variant, algorithm=algorithm, n=n)


def largest(solves, device):
    """The largest size at which all algorithms were measured; NotMeasured without one."""
    sizes = [n for n in values(solves, "n") if all(len(rows_of(solves, device, name, n)) for name in NAMES)]
    return required(max(sizes, default=None))


def points(solves, device, algorithm, other):
    """[(n, time of an algorithm over that of another)] at all sizes at which both were measured."""
    sizes = values(solves, "n")
    points = [(n, ratios.of(*(rows_of(solves, device, name, n) for name in (algorithm, other)))) for n in sizes]
    return [(n, ratio) for n, ratio in points if ratio]


def condition(solves, column):
    """The kappa or tolerance of all solves to a tolerance; NotMeasured where they differ, or without any."""
    known = values(solves[solves["algorithm"] != "direct"], column) if len(solves) else []
    return required(known[0] if len(known) == 1 else None)
