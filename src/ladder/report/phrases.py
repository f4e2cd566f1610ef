"""Measurements as parts of sentences: times, rates, comparisons and scaling by threads, in LaTeX.

A sentence claims a difference only where the samples show one, by `ladder.statistics.verdicts`. What is missing is
None, or a `Missing` where words other than the usual ones fit the sentence.
"""

from ladder.report import ratios, study
from ladder.report.latex import Missing, digits, listed, number, seconds
from ladder.report.ratios import bounded
from ladder.statistics import claims, verdicts

# A time within a tenth of the shortest counts as levelled off.
LEVEL = 1.1

NOTHING = Missing(r"\nomeasurement{}")


def with_prefix(prefix, values):
    """The values under longer keys."""
    return {f"{prefix}/{key}": value for key, value in values.items()}


def comparison(frame, other, name):
    """How a case does against another, as the predicate of a sentence."""
    if frame.empty or other.empty:
        return Missing(f"was not compared with {name} for want of a measurement")
    found = verdicts.compare(study.processes(frame), study.processes(other))
    if found.outcome == "faster":
        return f"is {number(1 / found.ratio)} times as fast as {name} ({between(1 / found.high, 1 / found.low)})"
    if found.outcome == "slower":
        return f"takes {number(found.ratio)} times as long as {name} ({between(found.low, found.high)})"
    if not bounded(found.low, found.high):
        return f"takes {number(found.ratio)} times as long as {name} (from too few processes to rule out chance)"
    around = f"it takes {number(found.ratio)} times as long; {between(found.low, found.high)}"
    return f"can't be told apart from {name} ({around})"


def between(low, high, level=99):
    """An interval of ratios, as words that stand in brackets."""
    if not bounded(low, high):
        return "no interval from so few processes"
    return f"\\qty{{{level}}}{{\\percent}} interval \\numrange{{{digits(low)}}}{{{digits(high)}}}"


def counted(count, noun):
    """1 thread, 2 threads."""
    return f"\\num{{{count}}} {noun}{'s' if count > 1 else ''}"


def thread_count(count):
    """1 thread, 2 threads."""
    return counted(count, "thread")


def levels_off(cases):
    """The fewest threads whose time is within a tenth of the shortest."""
    times = {count: claims.middle(study.processes(rows)) for count, rows in cases.items()}
    return min(count for count in cases if times[count] <= LEVEL * min(times.values()))


def scaling(cases):
    """How the time goes with the number of threads: {threads: rows} to numbers and a predicate.

    The best number is chosen on other processes than those that say whether it is faster (`study.chosen_apart`).
    """
    names = ("fewest-threads", "fewest-time", "best-threads", "best-time", "most-threads", "speedup", "levels-off")
    if not cases:
        return dict.fromkeys(names) | {"scaling": Missing("has no measurement")}
    few, (best, _), most = min(cases), study.chosen_apart(cases), max(cases)
    start, end = (seconds(claims.middle(study.processes(cases[count]))) for count in (few, best))
    single = f"was measured on {thread_count(few)} alone: {start}"
    values = {"fewest-threads": thread_count(few), "fewest-time": start, "best-threads": thread_count(best)}
    values |= {"best-time": end, "most-threads": thread_count(most)}
    if len(cases) == 1:
        return values | {"speedup": Missing("none"), "levels-off": Missing("unknown"), "scaling": single}
    gain = ratios.of_best(cases[few], cases)
    if verdicts.outcome_of(gain.low, gain.high) == verdicts.SLOWER:
        sentence = (
            f"falls from {start} on {thread_count(few)} to {end} on {thread_count(best)}, the best of those tried: "
            f"a speed-up of {ratios.prose(gain)}"
        )
        if best < most:
            back = ratios.compared(ratios.of_best(cases[most], cases).inverse(), thread_count(best))
            sentence += f"; on {thread_count(most)} the program {back}"
    elif best == few:
        sentence = f"is {start} on {thread_count(few)}; no other count up to {most} does better"
    else:
        sentence = f"is {start} on {thread_count(few)}; the best of those tried, {end} on {thread_count(best)}, "
        sentence += ratios.compared(gain, thread_count(few))
    return values | {"speedup": number(gain.value), "levels-off": thread_count(levels_off(cases)), "scaling": sentence}


def intensity(frame):
    """FLOPs per byte moved at least."""
    return float(frame["flops"].iloc[0] / frame["bytes"].iloc[0]) if len(frame) else None


def caches(frame):
    """The cache protocols of some rows."""
    return listed(study.values(frame, "cache")) or None


def side(value, ridge):
    """Which ceiling limits a product of this intensity."""
    if value is None or ridge is None:
        return Missing("on a side of the ridge that is unknown for want of a measurement")
    return (
        "above the ridge, where arithmetic is the limit"
        if value >= ridge
        else "below the ridge, where memory is the limit"
    )


def span(counts):
    """One count, or the lowest and the highest."""
    found = sorted(set(counts))
    if not found:
        return None
    return f"\\num{{{found[0]}}}" if len(found) == 1 else f"\\numrange{{{found[0]}}}{{{found[-1]}}}"
