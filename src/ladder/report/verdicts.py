"""The verdicts of all chapters as data: a row for each claim, of which `verdicts.csv`, a table and numbers are made."""

import math
import re
from collections import Counter

import pandas as pd

from ladder.report import chapters, latex, verdict_table
from ladder.report.cells import NONE
from ladder.report.latex import code
from ladder.report.phrases import span
from ladder.statistics import claims
from ladder.store import PUBLISHED
from ladder.store import study as queries

GROUPS = {"earlier": "claims of the study", "rungs": "our own claims"}
COLUMNS = ("chapter", "group", "claim", "text", "least", "most", "now", "low", "high", "verdict", "detectable", "cause")
COLUMNS = (*COLUMNS, "machines", "cases")
# What of a claim's LaTeX has no place in data: `\num{1.5}\,$\times$` is 1.5 x there.
PLAIN = (
    (r"\\allowbreak\{\}", ""),
    (r"\\([_%&#])", r"\1"),
    (r"\\qty\{([^{}]*)\}\{\\percent\}", r"\1 %"),
    (r"\\(?:texttt|num|emph|code)\{([^{}]*)\}", r"\1"),
    (r"\\times", "x"),
    (r"\\,|[$]", " "),
    (r"\\kappa", "kappa"),
)


def rows(study):
    """A row for each claim of a study, in the order of the paper: a frame with COLUMNS.

    `group` is `earlier` for what a study claimed and `rungs` for our own claims. The claim is of a ratio
    from `least` to `most`, which are empty where nothing bounds it. `now`, `low` and `high` are the ratio found and its
    interval, empty where nothing was measured; `detectable` is the smallest change that could have been seen;
    `machines` and `cases` are what the ratio rests on, a space between.
    """
    return pd.DataFrame([row(*verdict) for verdict in chapters.verdicts(study)], columns=list(COLUMNS))


def row(chapter, group, claim):
    """The row of one claim."""
    ratio, told = claim.answer.ratio, claim.answer.detectable
    cases = ratio.cases if ratio else ()
    return {
        "chapter": chapter.workload,
        "group": group,
        "claim": claim.key,
        "text": plain(claim.text),
        "least": claim.answer.lower or None,
        "most": claim.answer.upper if claim.answer.upper < math.inf else None,
        "now": ratio.value if ratio else None,
        "low": ratio.low if ratio else None,
        "high": ratio.high if ratio else None,
        "verdict": claim.answer.verdict,
        "detectable": told if ratio and claim.answer.verdict == claims.UNDECIDED else None,
        "cause": plain(claim.cause or ""),
        "machines": " ".join(dict.fromkeys(machine.removesuffix(PUBLISHED) for machine, *_ in cases)),
        "cases": " ".join("/".join(case) for _, *case in cases),
    }


def plain(text):
    """LaTeX of a claim as plain text."""
    for pattern, instead in PLAIN:
        text = re.sub(pattern, instead, text)
    return " ".join(text.split())


def table(study):
    """How many claims of each chapter have which verdict: those of the studies, and our own, as LaTeX."""
    every = chapters.verdicts(study)
    counts = Counter((chapter.title, group, claim.answer.verdict) for chapter, group, claim in every)
    lines = [
        [latex.escape(title), *(str(counts[title, group, word] or NONE) for group in GROUPS for word in claims.WORDS)]
        for title in dict.fromkeys(chapter.title for chapter, *_ in every)
    ]
    head = latex.grouped(["Section"], dict.fromkeys(GROUPS.values(), claims.WORDS))
    return latex.table("@{}l" + "r" * (len(head) - 1) + "@{}", head, lines)


def numbers(study):
    """The numbers of all verdicts together, and of the cases behind them."""
    every = chapters.verdicts(study)
    groups = {name: [claim for _, group, claim in every if group == name] for name in GROUPS}
    behind = {case for *_, claim in every if claim.answer.ratio for case in claim.answer.ratio.cases}
    return {
        "study/verdicts/count": f"\\num{{{len(groups['earlier'])}}}",
        **{f"study/verdicts/{name}": verdict_table.tally(group) for name, group in groups.items()},
        "study/toy": toy(study, {machine for machine, *_ in behind}),
        **samples_behind(study, behind),
    }


def toy(study, deciding):
    """The machine of this build, if it has measured and no verdict rests on it."""
    local = [name for name in study.machines() if not name.endswith(PUBLISHED)]
    return code(local[0]) if local and local[0] not in deciding else None


def samples_behind(study, cases):
    """How many processes the cases behind the verdicts have, and how many samples those have."""
    everything = study.everything("samples", *queries.OF_ONE_RECORD, "phase", "process", "sample")
    if everything.empty or not cases:
        return {"study/behind/processes": None, "study/behind/samples": None}
    calls = everything[everything["phase"] == "total"]
    calls = calls[pd.MultiIndex.from_frame(calls[["machine", *queries.CASE]]).isin(list(cases))]
    by_case = calls.drop_duplicates(["machine", *queries.CASE, "process", "sample"]).groupby(["machine", *queries.CASE])
    return {
        "study/behind/processes": span(by_case["process"].nunique()),
        "study/behind/samples": span(calls.groupby(["experiment", "machine", *queries.CASE, "process"]).size()),
    }
