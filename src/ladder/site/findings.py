"""What was found, in at most five sentences made from verdicts, ladders and checks; one without data is omitted."""

import re
from collections import Counter
from urllib.parse import urlencode

import pandas as pd
from markupsafe import Markup

from ladder.errors import pluralize
from ladder.report import chapters, ratios
from ladder.report.figures import formats
from ladder.report.telling import lines
from ladder.report.verdict_table import PREDICATES
from ladder.site.checks import largest_share
from ladder.statistics import claims, verdicts
from ladder.statistics.quotients import Ratio

CPU_DEVICES, GPU_DEVICES = ("host",), ("cuda",)
# Groups in links: STUDIES holds the groups `numbers` and `directions` of `verdicts.csv`.
STUDIES, OWN = "studies", "own"


def sentences(claim_rows, ladders, checks):
    """The sentences as text or Markup, from the rows of `verdicts.csv`, and from ladders and checks of this package.

    In a row, `now` is the measured ratio, and `least` and `most` bound the claimed one.
    """
    parts = [
        verdicts_sentence(claim_rows),
        gain_sentence(ladders, CPU_DEVICES, "a CPU"),
        gain_sentence(ladders, GPU_DEVICES, "a GPU"),
        peers_sentence(ladders),
        opposite_sentence(claim_rows) or checks_sentence(checks),
    ]
    return [sentence for sentence in parts if sentence]


def verdicts_sentence(claim_rows):
    """How many claims of the studies, and how many of our own, were tested, and with which verdicts."""
    ours = [row for row in claim_rows if row["group"] == OWN]
    others = [row for row in claim_rows if row["group"] != OWN]
    groups = [group_clause(others, STUDIES, "of the studies"), group_clause(ours, OWN, "of our own")]
    parts = [part for part in groups if part]
    return Markup("Of {}.").format(Markup("; of ").join(parts)) if parts else None


def group_clause(claim_rows, group, origin):
    """The part of `verdicts_sentence` on some claims, after "of"; each count links to its rows.

    None if no claim was tested.
    """
    counts = Counter(row["verdict"] for row in claim_rows)
    tested = len(claim_rows) - counts[claims.NOT_TESTED]
    if not tested:
        return None
    words = [word for word in claims.VERDICTS if counts[word] and word != claims.NOT_TESTED]
    parts = enumeration(
        [link(f"{counts[word]} {PREDICATES.get(word, word)}", verdict=word, group=group) for word in words]
    )
    total, tested_count = (
        f"{pluralize(len(claim_rows), 'claim')} {origin}",
        "1 was" if tested == 1 else f"{tested} were",
    )
    return Markup("{}, {} tested: {}").format(total, tested_count, parts)


def gain_sentence(ladders, devices, place):
    """The largest speed-up of a ladder on some devices."""
    pairs = [
        (ladder, ladder.best_rung)
        for ladder in ladders
        if ladder.device in devices and ladder.best_rung and ladder.best_rung.device in devices
    ]
    if not pairs:
        return None
    ladder, best = max(pairs, key=lambda pair: pair[1].gain_over_first.value)
    return (
        f"On {place}, the ladder of “{ladder.title}” gains most: on {ladder.machine}, {rung_text(best)} is "
        f"{ratio_text(best.gain_over_first)} faster than {rung_text(ladder.rungs[0])}."
    )


def peers_sentence(ladders):
    """How often the best rung is faster than the fastest peer that was measured with it."""
    pairs = [(ladder, ladder.gain_over_peer) for ladder in ladders if ladder.gain_over_peer]
    if not pairs:
        return None
    faster = sum(verdicts.outcome_of(ratio.low, ratio.high) == verdicts.SLOWER for _, ratio in pairs)  # the peer is
    ladder, ratio = max(pairs, key=lambda pair: pair[1].value)
    return (
        f"The best rung is faster than the fastest peer on {faster} of {pluralize(len(pairs), 'ladder')} with peers, "
        f"by up to {ratio_text(ratio)}: on {ladder.machine}, {rung_text(ladder.best_rung)} against "
        f"{rung_text(ladder.best_peer)}."
    )


def rung_text(rung):
    """A rung's label, with the threads, ranks or GPUs that its case uses: rungs of a ladder may differ in these."""
    return f"“{rung.label}” on {lines.parallelism(rung.rows.iloc[0])}"


def opposite_sentence(claim_rows):
    """How many claims turned out the opposite, and the clearest: a plain comparison, of a study, if possible."""
    opposite = [row for row in claim_rows if row["verdict"] == claims.OPPOSITE and pd.notna(row["now"])]
    if not opposite:
        return None
    ours = sum(row["group"] == OWN for row in opposite)
    parts = enumeration(
        [
            f"{count} {origin}"
            for count, origin in ((len(opposite) - ours, "of the studies"), (ours, "of our own"))
            if count
        ]
    )
    count = link(pluralize(len(opposite), "claim"), verdict=claims.OPPOSITE)
    return Markup("Measurements show the opposite of {} ({}). {}").format(
        count, parts, example(max(opposite, key=clearness))
    )


def clearness(row):
    """The key by which opposites are ordered."""
    return bool(compared_variants(row)), row["group"] != OWN, max(row["now"], 1 / row["now"])


def compared_variants(row):
    """The two variants of a claim such as `cuda_shared over cuda_naive`; None of any other claim."""
    match = re.fullmatch(r"(\w+) over (\w+)", row["text"])
    return match and match.groups()


def example(row):
    """A sentence on a claim that turned out the opposite, which leads to its row."""
    titles = {chapter.workload: chapter.title for chapter in chapters.chapters()}
    title = titles.get(row["chapter"], row["chapter"])
    ratio = Ratio(row["now"], row["low"], row["high"])
    link_here = link("here", claim=f"{row['chapter']}/{row['claim']}")
    if names := compared_variants(row):
        comparison = Markup("“{}” is claimed to be faster than “{}”; {} it is {} slower").format(
            *names, link_here, ratio_text(ratio.inverse())
        )
    else:
        comparison = Markup("“{}”; {} the ratio is {} where {} is claimed").format(
            row["text"], link_here, ratio_text(ratio), claimed_text(row)
        )
    return Markup("In “{}”, {}.").format(title, comparison)


def checks_sentence(checks):
    """How many comparisons with a reference were made, and how near the nearest came to its bound."""
    share = largest_share(checks)
    if share is None:
        return None
    count = sum(row["count"] for row in checks)
    return f"{pluralize(count, 'comparison')} with a reference came to at most {formats.percent(share)} of their bound."


def claimed_text(row):
    """The ratio that a row of `verdicts.csv` claims: a number, a range, a bound, or any gain."""
    low, high = ("" if pd.isna(row[name]) else f"{row[name]:.3g}" for name in ("least", "most"))
    if low == high:
        return low
    if low and high:
        return f"{low} to {high}"
    return f"≤ {high}" if high else f"≥ {low}" if row["least"] > 1 else f"> {low}"


def ratio_text(ratio):
    """The text of a ratio, whose number and sign stay on a line."""
    return ratios.plain(ratio).replace(" ×", "\u00a0×")


def enumeration(words):
    """Words with commas and an `and`."""
    *others, last = words
    return Markup("{} and {}").format(Markup(", ").join(others), last) if others else last


def link(text, **choice):
    """A link to the verdicts with this choice of verdict, group or claim."""
    return Markup('<a href="#verdicts?{}">{}</a>').format(urlencode(choice), text)
