"""The rules of `docs/how-to/verdict.md` for verdicts on claims, as a reader applies them: row by row, from the top.

`RULES` has each row's words with their meaning, independent of the code that decides. A claim is
(min_ratio, max_ratio): (1, 1) is equality, (0, c) at most c, (c, inf) at least c, and (1, inf) a speed-up without a
number. `low` and `high` are the ends of the ratio's interval.
"""

import math
import re

from conftest import ROOT

PAGE = ROOT / "docs/how-to/verdict.md"
MARGIN, THRESHOLD = 1.1, 1.01  # as factors; `statistics/verdicts.py` has them as differences from 1


def is_equality(claim):
    return claim == (1, 1)


def is_at_most(claim):
    return claim[0] == 0


def is_speed_up(claim):
    return not is_equality(claim) and not is_at_most(claim)


def has_number(claim):
    return claim not in ((1, 1), (1, math.inf))


def misses_bound(low, high, claim):
    """Whether an interval lies wholly on the wrong side of a bound."""
    min_ratio, max_ratio = claim
    if is_at_most(claim):
        return low > max_ratio
    return has_number(claim) and max_ratio == math.inf and high < min_ratio


def is_opposite(low, high, claim):
    if is_equality(claim):
        return low > MARGIN or high < 1 / MARGIN
    return is_speed_up(claim) and high < 1 / THRESHOLD


def has_no_effect(low, high, claim):
    return is_speed_up(claim) and low >= 1 / MARGIN and high <= MARGIN and low <= THRESHOLD


def is_as_claimed(low, high, claim):
    if claim == (1, math.inf):
        return low > THRESHOLD
    min_ratio, max_ratio = claim
    return min_ratio / MARGIN <= low and high <= MARGIN * max_ratio and not misses_bound(low, high, claim)


def is_less(low, high, claim):
    min_ratio, _ = claim
    return has_number(claim) and (misses_bound(low, high, claim) or high < min_ratio / MARGIN)


def is_more(low, high, claim):
    return is_speed_up(claim) and low > MARGIN * claim[1]


RULES = {
    "the opposite": (
        "has the direction opposite to a claimed speed-up or, for a claimed equality, lies wholly beyond the margin of "
        "1",
        is_opposite,
    ),
    "no effect": (
        "lies within the margin of 1 and has no direction, where a speed-up is claimed",
        has_no_effect,
    ),
    "as claimed": (
        "agrees with the number within the margin, and isn't wholly on the wrong side of a bound; without a number, "
        "has the claimed direction",
        is_as_claimed,
    ),
    "less than claimed": (
        "lies wholly on the wrong side of a bound, or wholly more than the margin short of the number",
        is_less,
    ),
    "more than claimed": ("lies wholly more than the margin beyond the number", is_more),
    "undecided": ("fits none of these", lambda low, high, claim: True),
}


def rows():
    """{verdict: words} of the page's table of verdicts on claims, in its order."""
    section = PAGE.read_text(encoding="utf-8").partition("## A claim")[2]
    cells = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return dict(cells[2:])


def verdict(low, high, min_ratio, max_ratio):
    """The verdict on a claim of a ratio from `min_ratio` to `max_ratio`: that of the first rule that holds."""
    if 0 < min_ratio < 1:  # a claim of a ratio below 1 is that of its reciprocal
        low, high, min_ratio, max_ratio = 1 / high, 1 / low, 1 / max_ratio, 1 / min_ratio
    return next(word for word, (_, holds) in RULES.items() if holds(low, high, (min_ratio, max_ratio)))
