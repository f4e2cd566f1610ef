"""Verdicts on what earlier studies found: "holds", "holds in part", "does not hold", or why it isn't decided."""

from ladder.report import study
from ladder.report.phrases import Missing, with_prefix
from ladder.statistics import verdicts

FAR = 2.0  # times as long, for "far ahead" and "far longer"


def answers(found):
    """Numbers of {finding: (verdict, evidence)}: `<finding>/verdict` and `<finding>/evidence`."""
    parts = (
        with_prefix(name, dict(zip(("verdict", "evidence"), answer, strict=True))) for name, answer in found.items()
    )
    return {key: value for part in parts for key, value in part.items()}


def untested(why):
    """The verdict and the evidence where what it takes wasn't measured."""
    return Missing("not tested"), Missing(why)


def distance(rows, other):
    """A case's time beside another's: "ahead" or "behind" by more than FAR times, "near", or "between"."""
    found = verdicts.compare(study.processes(rows), study.processes(other))
    if found.high < 1 / FAR:
        return "ahead"
    if found.low > FAR:
        return "behind"
    return "near" if found.low >= 1 / FAR and found.high <= FAR else "between"
