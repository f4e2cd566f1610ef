"""Ratios as text: `2.1 × [1.9, 2.3]`, with as many decimals as tell it from the ends of its interval."""

import math

from ladder.report.latex import digits, percent
from ladder.statistics import claims, verdicts
from ladder.statistics.verdicts import THRESHOLD
from ladder.store import study

DIGITS, MORE = 2, 2  # of a ratio, and how many more its interval may ask for
WIDEST = 1e6  # an interval this wide, of two processes say, excludes nothing, and its ends have many digits
FAR = 10  # a relative change that nobody asks for
NARROW = 1.02  # prose omits an interval whose ends differ by at most this factor


def of(rows, other):
    """The time of a case over that of another, or None where one of them wasn't measured."""
    if not (len(rows) and len(other)):
        return None
    rows, other = map(study.one_case, (rows, other))
    return claims.quotient(*map(study.processes, (rows, other)), study.cases(rows, other))


def of_best(rows, cases):
    """The time of a case over that of the best of {key: rows}, chosen and tested on different processes; or None."""
    if not (len(rows) and cases):
        return None
    rows, cases = study.one_case(rows), {key: study.one_case(case) for key, case in cases.items()}
    best, tested = study.chosen_apart(cases)
    of_all, apart = study.processes(cases[best]), study.processes(tested)
    return claims.quotient(study.processes(rows), of_all, study.cases(rows, cases[best]), apart)


def over(rows, seconds):
    """The time of a case over one that is known exactly, or None where one of them is missing."""
    rows = study.one_case(rows)
    return claims.multiple(study.processes(rows), seconds, study.cases(rows)) if len(rows) and seconds else None


def bounded(low, high):
    """Whether an interval of ratios has ends that mean something: it spans less than a factor of WIDEST."""
    return low > 0 and high < WIDEST * low


def of_parts(rows, other):
    """The time of some phases over that of others of the same passes, or None without either."""
    if rows.empty or other.empty:
        return None
    rows, other = map(study.one_case, (rows, other))
    summed = (part.groupby(["process", "sample"])["seconds"].sum() for part in (rows, other))
    processes = ([list(process) for _, process in times.groupby("process")] for times in summed)
    return claims.quotient(*processes, study.cases(rows))


def parts(ratio):
    """A ratio and the ends of its interval as text; no ends where there is no interval, or next to none."""
    return told_apart(ratio, decimals_of(ratio.value))


def decimals_of(value):
    """The decimals with which a number has so many DIGITS; below 0 from a hundred on."""
    return DIGITS - 1 - math.floor(math.log10(value))


def told_apart(ratio, decimals):
    """The same with so many decimals, or as many more as tell it from the ends, or else the ends from each other.

    Where one more decimal shows it, no end is rounded to a 1 that the interval doesn't reach.
    """
    if not bounded(ratio.low, ratio.high):
        return rounded(ratio.value, decimals), None
    texts = [
        [rounded(number, decimals + more) for number in (ratio.value, ratio.low, ratio.high)]
        for more in range(MORE + 1)
    ]
    away_from_1 = [text for text in texts[:2] if ratio.low <= 1 <= ratio.high or 1 not in map(float, text[1:])]
    for different, candidates in ((3, away_from_1), (3, texts), (2, texts)):
        for value, *ends in candidates:
            if len({value, *ends}) >= different:
                return value, tuple(ends)
    return texts[0][0], None


def rounded(value, decimals):
    """A number with so many decimals, which may be below 0."""
    return f"{round(value, decimals):.{max(decimals, 0)}f}"


def size(value, low, high):
    """A size with its interval, such as that of a break-even point; an end of 0 or infinity is open."""
    if low == 0 or high == math.inf:
        ends = [("at least", low)] * (low > 0) + [("at most", high)] * (high < math.inf)
        return f"\\num{{{digits(value, DIGITS)}}}" + "".join(
            f" ({words} \\num{{{digits(end, DIGITS)}}})" for words, end in ends
        )
    texts = ([digits(end, DIGITS + more) for end in (value, low, high)] for more in range(MORE + 1))
    value, low, high = next((text for text in texts if text[1] != text[2]), (digits(value, DIGITS), None, None))
    return f"\\num{{{value}}}" + (f" [\\num{{{low}}}, \\num{{{high}}}]" if low else "")


def plain(ratio):
    """A ratio as figures write it."""
    value, ends = parts(ratio)
    return f"{value} × [{ends[0]}, {ends[1]}]" if ends else f"{value} ×"


def latex(ratio):
    """A ratio as tables write it."""
    value, ends = parts(ratio)
    return times(value) + (f" [\\num{{{ends[0]}}}, \\num{{{ends[1]}}}]" if ends else "")


def times(value):
    """A number in text as a ratio."""
    return f"\\num{{{value}}}\\,$\\times$"


def short(value):
    """A ratio with two digits and no interval."""
    return times(digits(value, DIGITS))


def prose(ratio):
    """A ratio as sentences write it, with no interval that is narrow; None stays None."""
    if ratio is None:
        return None
    return times(rounded(ratio.value, decimals_of(ratio.value))) if ratio.high <= NARROW * ratio.low else latex(ratio)


def efficiency(ratio, count):
    """The share that a speed-up is of `count`, in per cent, with an interval as in `prose`; None stays None."""
    if ratio is None:
        return None
    share = ratio.times(100 / count)
    decimals = max(decimals_of(share.value), 0)
    is_narrow = share.high <= NARROW * share.low
    value, ends = (rounded(share.value, decimals), None) if is_narrow else told_apart(share, decimals)
    return f"\\qty{{{value}}}{{\\percent}}" + (f" [\\num{{{ends[0]}}}, \\num{{{ends[1]}}}]" if ends else "")


def compared(ratio, name):
    """What another's time over a case's says of the case, as the predicate of a sentence; by `verdicts.outcome_of`."""
    outcome = verdicts.outcome_of(ratio.low, ratio.high)
    if outcome == verdicts.SLOWER:  # the other is
        return f"is {prose(ratio)} faster than {name}"
    if outcome == verdicts.FASTER:
        return f"is {prose(ratio.inverse())} slower than {name}"
    if outcome == verdicts.EQUAL:
        return f"ties with {name} within \\qty{{{verdicts.equal_within(ratio.low, ratio.high)}}}{{\\percent}}"
    return f"does not differ significantly from {name} ({detectable(ratio)})"


def detectable(ratio):
    """The smallest difference that would have been significant, as a clause."""
    change = ratio.detectable(THRESHOLD)
    if change > FAR:
        return "too few processes to detect any difference"
    return f"a difference of {percent(change, 2)} would have been detected"


def seen(detectable):
    """The smallest relative change that would have been detected, as a clause."""
    if detectable > FAR:
        return "too few processes to detect any change"
    return f"a change of {percent(detectable, 2)} would show"
