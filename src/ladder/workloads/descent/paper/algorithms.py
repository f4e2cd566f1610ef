"""Time to solution by algorithm and size, and where one algorithm becomes cheaper than another."""

from ladder.report import ratios, study
from ladder.report.phrases import Missing
from ladder.statistics import crossings, verdicts

NAMES = {"steepest": "steepest descent", "cg": "CG", "direct": "Cholesky"}
# The variants that stand for an algorithm where two are compared, on the host and on a card, fixed beforehand.
CHOSEN = {
    "host": {"steepest": "blas", "cg": "blas", "direct": "scipy_cholesky"},
    "cuda": {"steepest": "cuda_persistent", "cg": "cuda_persistent", "direct": "cusolver"},
}


def alike(frame):
    """The solves without those of the host on other threads than Cholesky has at most, so that all have as many."""
    if "threads" not in frame:
        return frame
    is_host, is_direct = frame["device"] == "host", frame["algorithm"] == "direct"
    ours = is_host & is_direct if (is_host & is_direct).any() else is_host
    return frame[~is_host | (frame["threads"] == frame.loc[ours, "threads"].max()).fillna(False)]


def rows_of(frame, device, algorithm, n):
    """The timed solves by the variant that stands for an algorithm, of `alike` ones."""
    return study.where(frame, device=device, variant=CHOSEN[device][algorithm], algorithm=algorithm, n=n)


def common(frame, device):
    """The sizes at which all algorithms were measured."""
    return [n for n in study.values(frame, "n") if all(len(rows_of(frame, device, name, n)) for name in NAMES)]


def points(frame, device, algorithm, other):
    """[(n, time of an algorithm over that of another)] at all sizes at which both were measured."""
    sizes = study.values(frame, "n")
    found = [(n, ratios.of(*(rows_of(frame, device, name, n) for name in (algorithm, other)))) for n in sizes]
    return [(n, ratio) for n, ratio in found if ratio]


def sentence(some):
    """From which n on an algorithm is cheaper, of `points`, as the predicate of a sentence about it."""
    found = crossings.break_even(some)
    if found is None:
        return Missing("was not compared at enough sizes")
    sizes = f"from $n = \\num{{{some[0][0]}}}$ to \\num{{{some[-1][0]}}}"
    words = {
        crossings.EVERYWHERE: f"takes less time at every size {sizes}",
        crossings.NOWHERE: f"takes more time at every size {sizes}",
        verdicts.UNDECIDED: f"can't be told to take less time from some size on, {sizes}",
    }
    return words[found] if isinstance(found, str) else f"takes less time from $n = {ratios.size(*found)}$ on"
