"""Verdicts on what is claimed of a ratio: confirmed, weaker, refuted, undecided or not tested.

A ratio is the quotient of two medians over processes of the processes' medians, the numbers that a table shows, and it
has one interval for every purpose: at LEVEL, since verdicts come in dozens. Which of two cases is faster, if any, is in
`verdicts`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ladder.errors import LadderError
from ladder.statistics.intervals import exp, location, log_medians, median_of, require_processes

# MARGIN is what a claim may differ by, too, and still be the same: another machine's numbers are never nearer.
from ladder.statistics.verdicts import MARGIN, UNDECIDED, farther, shift_between

LEVEL = 0.99
CONFIRMED, WEAKER, REFUTED, NOT_TESTED = "confirmed", "weaker", "refuted", "not tested"
WORDS = CONFIRMED, WEAKER, REFUTED, UNDECIDED, NOT_TESTED


@dataclass(frozen=True)
class Ratio:
    """A positive ratio with its interval at LEVEL, (0, inf) where there are too few processes for one.

    `cases` are those that it rests on, each (machine, workload, variant, case); they are no part of its value.
    """

    value: float
    low: float
    high: float
    cases: tuple = field(default=(), compare=False, repr=False)

    def times(self, factor):
        """The ratio times a number that is known exactly, such as that of two amounts of work."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def inverse(self):
        """The other way round."""
        return replace(self, value=1 / self.value, low=1 / self.high, high=1 / self.low if self.low else math.inf)

    def detectable(self, margin=MARGIN):
        """The smallest relative change, beyond a margin, that an interval as wide as this shows in 80 % of cases."""
        if not 0 < self.low <= self.high < math.inf:
            return math.inf
        return (1 + margin) * max(self.high / self.value, self.value / self.low) ** farther(LEVEL) - 1


@dataclass(frozen=True)
class Answer:
    """The verdict on a claim of a ratio from `least` to `most`: one of the five words, with the ratio that was found.

    `found` is None where there is none; `detectable` is the smallest relative change that it could have shown.
    """

    verdict: str
    found: Ratio | None
    least: float
    most: float
    detectable: float = math.inf


def middle(processes: Sequence[Sequence[float]]) -> float:
    """The median over processes of the processes' medians, in seconds."""
    return float(np.median([median_of(times) for times in require_processes(processes, "the case")]))


def quotient(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    cases: tuple = (),
    tested: Sequence[Sequence[float]] | None = None,
) -> Ratio:
    """The time of a over that of b, which rests on these cases.

    The interval is that of `verdicts.shift_between`, extended to the ratio if need be: by ranks from 5 processes of
    each on, else Welch's, which processes in two states make a little too narrow. Where b was chosen as the best of
    several, `tested` are those of its processes that didn't choose it (`selection.apart`): they alone set the interval.
    """
    logarithms = (log_medians(require_processes(one, "the case")) for one in (a, b if tested is None else tested))
    return extended(middle(a) / middle(b), shift_between(*logarithms, LEVEL), cases)


def multiple(a: Sequence[Sequence[float]], seconds: float, cases: tuple = ()) -> Ratio:
    """The time of a over one that is known exactly; the interval is that of a's median, by ranks from 8 processes."""
    _, low, high = location(log_medians(require_processes(a, "the case")), LEVEL)
    shift = math.log(seconds)
    return extended(middle(a) / seconds, (0.0, low - shift, high - shift), cases)


def extended(value, logarithms, cases):
    """A ratio with the interval of (centre, low, high) in logarithms, extended to the ratio if need be."""
    _, low, high = exp(logarithms)
    return Ratio(value, float(min(low, value)), float(max(high, value)), cases)


def decide(found: Ratio | None, least: float, most: float = math.inf, margin: float = MARGIN) -> Answer:
    """The verdict on the claim that a ratio lies from `least` to `most`; None as a ratio was not tested.

    A claim on one side of 1 has a direction: the ratio must differ from 1 by more than the margin, whatever is claimed.
    One that has 1 inside, or from 1 to 1, is a claim of equality; one from 0, of at most so much, whatever lies below,
    such as a time over its floor, which a good one comes near to. The claimed ends are wider by the margin. The whole
    interval decides: inside it confirms; in the claimed direction, short of the claim, it is weaker; where no part of
    it has the direction, or all of it is farther than claimed, it refutes.
    """
    if not 0 <= least <= most or not (least > 0 or 0 < most < math.inf) or not margin >= 0:
        raise LadderError(
            f"A claim from {least} to {most} with a margin of {margin} says nothing: its ends must be in order, one of "
            "them above 0, its margin at least 0."
        )
    if found is None:
        return Answer(NOT_TESTED, None, least, most)
    if most <= 1 and 0 < least < 1:
        turned = decide(found.inverse(), 1 / most, 1 / least, margin)
        return Answer(turned.verdict, found, least, most, turned.detectable)
    return Answer(word(found, least, most, margin), found, least, most, found.detectable(margin))


def word(found, least, most, margin):
    """The verdict on a claim above 1, of equality, or of at most so much."""
    beyond = 1 + margin
    start, end = least / beyond, most * beyond
    direction = beyond if least >= 1 and most > 1 else start  # what lies below has another direction than the claim
    start = max(start, direction)
    if start <= found.low and found.high <= end:
        return CONFIRMED
    if found.low > end or found.high < direction:
        return REFUTED
    if found.low >= direction and found.high < start:
        return WEAKER
    return UNDECIDED
