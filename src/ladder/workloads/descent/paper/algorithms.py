"""Solves by algorithm and size: the lines that stand for algorithms, and where one becomes cheaper than another."""

from ladder.report import ratios
from ladder.report.study import values, where
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


def points(solves, device, algorithm, other):
    """[(n, time of an algorithm over that of another)] at all sizes at which both were measured."""
    sizes = values(solves, "n")
    points = [(n, ratios.of(*(rows_of(solves, device, name, n) for name in (algorithm, other)))) for n in sizes]
    return [(n, ratio) for n, ratio in points if ratio]
