"""Solves by algorithm and size: the lines that stand for algorithms, and where one becomes cheaper than another."""

from ladder.report import ratios
from ladder.report.study import values, where
from ladder.report.telling.chapter_study import NotMeasured
from ladder.workloads.descent.paper.lines import LINES

NAMES = {"steepest": "steepest descent", "cg": "CG", "direct": "Cholesky"}
# The lines that stand for an algorithm where two are compared, on the host and on a GPU, fixed beforehand.
CHOSEN = {
    "host": {"steepest": "blas", "cg": "blas", "direct": "scipy_cholesky"},
    "cuda": {"steepest": "cuda_persistent", "cg": "cuda_persistent", "direct": "cusolver"},
}


def rows_of(solves, device, algorithm, n):
    """The solves of a size by the variant that stands for an algorithm."""
    return where(solves, device=device, variant=LINES[CHOSEN[device][algorithm]].variant, algorithm=algorithm, n=n)


def largest(solves, device):
    """The largest size at which all algorithms were measured."""
    sizes = [n for n in values(solves, "n") if all(len(rows_of(solves, device, name, n)) for name in NAMES)]
    if not sizes:
        raise NotMeasured
    return sizes[-1]


def points(solves, device, algorithm, other):
    """[(n, time of an algorithm over that of another)] at all sizes at which both were measured."""
    sizes = values(solves, "n")
    found = [(n, ratios.of(*(rows_of(solves, device, name, n) for name in (algorithm, other)))) for n in sizes]
    return [(n, ratio) for n, ratio in found if ratio]


def condition(solves, column):
    """What kappa or tolerance all solves to a tolerance have; NotMeasured where they differ, or without any."""
    known = values(solves[solves["algorithm"] != "direct"], column) if len(solves) else []
    if len(known) != 1:
        raise NotMeasured
    return known[0]
