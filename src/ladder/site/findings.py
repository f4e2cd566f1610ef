"""What was parts, in at most five sentences made from verdicts, ladders and checks; one without data is omitted."""

from collections import Counter

import pandas as pd

from ladder.errors import pluralize
from ladder.report import ratios
from ladder.report.figures import formats
from ladder.report.verdict_table import SENTENCES
from ladder.site.checks import largest_share
from ladder.statistics import claims, verdicts
from ladder.statistics.quotients import Ratio

CPU, GPU = ("host",), ("cuda",)


def sentences(claim_rows, ladders, checks):
    """The sentences as plain text, from the rows of `verdicts.csv`, and from ladders and checks of this package."""
    parts = [
        of_verdicts(claim_rows),
        of_gain(ladders, CPU, "a CPU"),
        of_gain(ladders, GPU, "a GPU"),
        of_peers(ladders),
        of_opposite(claim_rows) or of_checks(checks),
    ]
    return [sentence for sentence in parts if sentence]


def of_verdicts(claim_rows):
    """How many claims were tested, and with which verdicts."""
    counts = Counter(row["verdict"] for row in claim_rows)
    tested = len(claim_rows) - counts[claims.NOT_TESTED]
    if not tested:
        return None
    words = [word for word in claims.WORDS if counts[word] and word != claims.NOT_TESTED]
    parts = enumeration(f"{counts[word]} {SENTENCES.get(word, word)}" for word in words)
    return f"Of {pluralize(len(claim_rows), 'claim')} and questions, {tested} were tested: {parts}."


def of_gain(ladders, devices, place):
    """The largest speed-up of a ladder on some devices."""
    tops = [
        (ladder, ladder.best)
        for ladder in ladders
        if ladder.device in devices and ladder.best and ladder.best.device in devices
    ]
    if not tops:
        return None
    ladder, top = max(tops, key=lambda pair: pair[1].first.value)
    return (
        f"On {place}, the ladder of “{ladder.title}” gains most: “{top.label}” is {plain(top.first)} faster than "
        f"“{ladder.rungs[0].label}” on {ladder.machine}."
    )


def of_peers(ladders):
    """How often the best rung is faster than the fastest peer that was measured with it."""
    pairs = [(ladder, ladder.over_peer) for ladder in ladders if ladder.over_peer]
    if not pairs:
        return None
    faster = sum(verdicts.outcome_of(ratio.low, ratio.high) == verdicts.SLOWER for _, ratio in pairs)
    ladder, ratio = max(pairs, key=lambda pair: pair[1].value)
    return (
        f"The best rung is faster than the fastest peer on {faster} of {pluralize(len(pairs), 'ladder')} with peers, "
        f"by up to {plain(ratio)}: “{ladder.best.label}” against “{ladder.best_peer.label}” on {ladder.machine}."
    )


def of_opposite(claim_rows):
    """The claim whose ratio turned out the opposite most clearly."""
    opposite = [row for row in claim_rows if row["verdict"] == claims.OPPOSITE and pd.notna(row["now"])]
    if not opposite:
        return None
    row = max(opposite, key=lambda row: max(row["now"], 1 / row["now"]))
    ratio = plain(Ratio(row["now"], row["low"], row["high"]))
    count = pluralize(len(opposite), "claim")
    return (
        f"Measurements show the opposite of {count}; the clearest is “{row['text']}” of {row['chapter']}, "
        f"with a ratio of {ratio} where {claimed(row)} is claimed."
    )


def of_checks(checks):
    """How many comparisons with a reference were made, and how near the nearest came to its bound."""
    share = largest_share(checks)
    if share is None:
        return None
    count = sum(row["count"] for row in checks)
    return f"{pluralize(count, 'comparison')} with a reference came to at most {formats.percent(share)} of their bound."


def claimed(row):
    """The ratio that a row of `verdicts.csv` claims: about, at least or at most so much, or any gain."""
    low, high = ("" if pd.isna(row[name]) else f"{row[name]:.3g}" for name in ("least", "most"))
    if low == high:
        return low
    if low and high:
        return f"{low} to {high}"
    return f"≤ {high}" if high else f"≥ {low}" if row["least"] > 1 else f"> {low}"


def plain(ratio):
    """The text of a ratio, whose number and sign stay on a line."""
    return ratios.plain(ratio).replace(" ×", "\u00a0×")


def enumeration(words):
    """Words with commas and an `and`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
