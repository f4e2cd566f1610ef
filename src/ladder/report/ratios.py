"""Ratios of times, and their text: `2.1 × [1.9, 2.3]`, with enough decimals to differ from the interval's ends."""

import math
from dataclasses import replace
from itertools import chain

from ladder.quantities import digits
from ladder.report.latex import percent
from ladder.statistics import quotients, verdicts
from ladder.statistics.campaigns import campaign_ratio, campaigns_that_count, ratio_over_campaigns
from ladder.statistics.verdicts import THRESHOLD
from ladder.store import study

DIGITS, MAX_EXTRA_DIGITS = 2, 2  # significant digits of a ratio, and how many more may be needed to show its interval
MAX_PRINTED_SPAN = 1e6  # intervals whose ends differ by this factor, such as those of two processes, aren't shown
MAX_PRINTED_CHANGE = 10  # relative changes above this are too large to be worth printing
MAX_EFFICIENCY_SPAN = 3  # efficiencies whose interval's ends differ by this factor aren't printed
NARROW_SPAN = 1.02  # prose omits an interval whose ends differ by at most this factor


def of(rows, other):
    """The time of a case over that of another, as a Ratio; None if one of them wasn't measured."""
    if not (len(rows) and len(other)):
        return None
    rows, other = map(study.first_case, (rows, other))
    return between(study.by_campaign(rows), study.by_campaign(other), study.cases(rows, other))


def between(times, others, cases=()):
    """The ratio of two cases, {campaign: processes}: over campaigns that measured both, or of all processes.

    Without a common campaign the ratio has no `spread`; no verdict rests on it.
    """
    if common := common_campaigns(times, others):
        return ratio_over_campaigns([campaign_ratio(times[name], others[name]) for name in common], cases)
    return quotients.quotient(*(list(chain.from_iterable(sides.values())) for sides in (times, others)), cases)


def common_campaigns(times, others):
    """The names of the campaigns on which the ratio of two cases, {campaign: processes}, rests; empty without one."""
    return campaigns_that_count(
        {name: min(len(times[name]), len(others[name])) for name in times if name and name in others}
    )


def quotient(ratio, other):
    """The quotient of two ratios, with an interval wide enough for both."""
    low, high = ratio.low / other.high, ratio.high / other.low
    return replace(ratio, value=ratio.value / other.value, low=low, high=high, cases=ratio.cases + other.cases)


def of_best(rows, cases):
    """The time of a case over that of the fastest of {key: rows}, chosen and tested on different processes; or None."""
    if not (len(rows) and cases):
        return None
    rows, cases = study.first_case(rows), {key: study.first_case(case) for key, case in cases.items()}
    best, test_rows = study.best_and_test_rows(cases)
    both_cases = study.cases(rows, cases[best])
    if {*study.by_campaign(rows)} & {*study.by_campaign(test_rows)} - {None, ""}:
        return between(study.by_campaign(rows), study.by_campaign(test_rows), both_cases)
    all_times, test_times = study.processes(cases[best]), study.processes(test_rows)
    return quotients.quotient(study.processes(rows), all_times, both_cases, test_times)


def over_seconds(rows, seconds):
    """The time of a case over one that is known exactly, or None where one of them is missing."""
    if not (len(rows) and seconds):
        return None
    rows = study.first_case(rows)
    times = {name: processes for name, processes in study.by_campaign(rows).items() if name}
    if times:
        exact = {name: [[seconds]] * len(processes) for name, processes in times.items()}
        return between(times, exact, study.cases(rows))
    return quotients.exact_quotient(study.processes(rows), seconds, study.cases(rows))


def is_bounded(low, high):
    """Whether an interval of ratios spans less than a factor of MAX_PRINTED_SPAN."""
    return low > 0 and high < MAX_PRINTED_SPAN * low


def value_and_ends(ratio):
    """A ratio and the ends of its interval as text; None instead of the ends if there is no useful interval."""
    return distinct_texts(ratio, decimals_of(ratio.value))


def decimals_of(value):
    """The number of decimals that gives a number DIGITS significant digits; negative from 100 on."""
    return DIGITS - 1 - math.floor(math.log10(value))


def distinct_texts(ratio, decimals):
    """As `value_and_ends`, with at least so many decimals, and enough for value and ends, or else the ends, to differ.

    An end isn't rounded to 1 unless the interval reaches 1, if one more decimal avoids that.
    """
    if not is_bounded(ratio.low, ratio.high):
        return fixed_point(ratio.value, decimals), None
    texts = [
        [fixed_point(number, decimals + extra) for number in (ratio.value, ratio.low, ratio.high)]
        for extra in range(MAX_EXTRA_DIGITS + 1)
    ]
    away_from_1 = [text for text in texts[:2] if ratio.low <= 1 <= ratio.high or 1 not in map(float, text[1:])]
    for min_distinct, candidates in ((3, away_from_1), (3, texts), (2, texts)):
        for value, low, high in candidates:
            if len({value, low, high}) >= min_distinct:
                return value, (low, high)
    return texts[0][0], None


def fixed_point(value, decimals):
    """A number as text with so many decimals, which may be negative."""
    return f"{round(value, decimals):.{max(decimals, 0)}f}"


def size_with_interval(value, low, high):
    """A size with its interval, such as a break-even point, in LaTeX; an end of 0 or infinity is open."""
    if low == 0 or high == math.inf:
        ends = [("at least", low)] * (low > 0) + [("at most", high)] * (high < math.inf)
        return f"\\num{{{digits(value, DIGITS)}}}" + "".join(
            f" ({words} \\num{{{digits(end, DIGITS)}}})" for words, end in ends
        )
    texts = ([digits(end, DIGITS + extra) for end in (value, low, high)] for extra in range(MAX_EXTRA_DIGITS + 1))
    value, low, high = next((text for text in texts if text[1] != text[2]), (digits(value, DIGITS), None, None))
    return f"\\num{{{value}}}" + (f" [\\num{{{low}}}, \\num{{{high}}}]" if low else "")


def plain(ratio):
    """The plain text of a ratio, as in figures, on the page of results and in a terminal."""
    value, ends = value_and_ends(ratio)
    return f"{value} × [{ends[0]}, {ends[1]}]" if ends else f"{value} ×"


def latex(ratio):
    """The LaTeX of a ratio in tables."""
    value, ends = value_and_ends(ratio)
    return with_times_sign(value) + (f" [\\num{{{ends[0]}}}, \\num{{{ends[1]}}}]" if ends else "")


def with_times_sign(value):
    """The LaTeX of a ratio whose value is a text."""
    return f"\\num{{{value}}}\\,$\\times$"


def short(value):
    """A ratio with two digits and no interval."""
    return with_times_sign(digits(value, DIGITS))


def prose(ratio):
    """The LaTeX of a ratio in sentences, without its interval if that is narrow; None stays None.

    A ratio near 1 has more decimals, so that it differs from 1, as in 1.05 × or 1.002 ×.
    """
    if ratio is None:
        return None
    if ratio.high > NARROW_SPAN * ratio.low:
        return latex(ratio)
    min_decimals = decimals_of(ratio.value)
    texts = [fixed_point(ratio.value, min_decimals + extra) for extra in range(MAX_EXTRA_DIGITS + 1)]
    return with_times_sign(next((text for text in texts if float(text) != 1), texts[0]))


def efficiency(ratio, processor_count):
    """A speed-up over `processor_count` threads, ranks or GPUs in per cent, with an interval as in `prose`, as LaTeX.

    None stays None, and a ratio whose ends differ by a factor of MAX_EFFICIENCY_SPAN says nothing: it gives None, too.
    """
    if ratio is None or MAX_EFFICIENCY_SPAN * ratio.low < ratio.high < math.inf:
        return None
    share = ratio.times(100 / processor_count)
    decimals = max(decimals_of(share.value), 0)
    is_narrow = share.high <= NARROW_SPAN * share.low
    value, ends = (fixed_point(share.value, decimals), None) if is_narrow else distinct_texts(share, decimals)
    return f"\\qty{{{value}}}{{\\percent}}" + (f" [\\num{{{ends[0]}}}, \\num{{{ends[1]}}}]" if ends else "")


def comparison(ratio, name):
    """A sentence's predicate about a case: how it compares with `name`, whose time over the case's is the ratio."""
    outcome = verdicts.outcome_of(ratio.low, ratio.high)
    if outcome == verdicts.SLOWER:  # `name` is slower
        return f"is {prose(ratio)} faster than {name}"
    if outcome == verdicts.FASTER:
        return f"is {prose(ratio.inverse())} slower than {name}"
    if outcome == verdicts.EQUAL:
        return f"is as fast as {name} to within \\qty{{{verdicts.equal_within(ratio.low, ratio.high)}}}{{\\percent}}"
    return f"does not differ significantly from {name} ({detectable(ratio)})"


def detectable(ratio):
    """The smallest difference that would have been detected, as a clause."""
    change = ratio.detectable(THRESHOLD)
    if change > MAX_PRINTED_CHANGE:
        return f"{obstacle(change)} to detect any difference"
    return f"the smallest detectable difference is {percent(change, 2)}"


def detectable_from(change):
    """The smallest relative difference that would have been detected, as a short clause for a table."""
    if change > MAX_PRINTED_CHANGE:
        return obstacle(change)
    return f"detectable: {percent(change, 2)}"


def obstacle(change):
    """Why no difference below MAX_PRINTED_CHANGE would have been detected: without an interval, or with a wide one."""
    return "too few processes" if change == math.inf else "times of processes differ too much"
