"""The verdicts of all chapters: the rows of `verdicts.csv`, a table of their counts, and numbers for the text."""

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
# Replacements, (pattern, text), that make LaTeX of a claim plain text: `\num{1.5}\,$\times$` becomes 1.5 x.
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

    `group` is `earlier` for claims of an earlier study, `rungs` for our own. The claimed ratio is from
    `least` to `most`; an empty one is no limit. `now`, `low` and `high` are the measured ratio and its interval, empty
    without a measurement. `detectable`, of an undecided claim, is the smallest change that would have been detected;
    `machines` and `cases` are those behind the ratio, separated by spaces.
    """
    return pd.DataFrame([row(*verdict) for verdict in chapters.verdicts(study)], columns=list(COLUMNS))


def row(chapter, group, claim):
    """The row of one claim."""
    ratio, detectable = claim.answer.ratio, claim.answer.detectable
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
        "detectable": detectable if ratio and claim.answer.verdict == claims.UNDECIDED else None,
        "cause": plain(claim.cause or ""),
        "machines": " ".join(dict.fromkeys(machine.removesuffix(PUBLISHED) for machine, *_ in cases)),
        "cases": " ".join("/".join(case) for _, *case in cases),
    }


def plain(text):
    """LaTeX of a claim as plain text."""
    for pattern, replacement in PLAIN:
        text = re.sub(pattern, replacement, text)
    return " ".join(text.split())


def table(study):
    """The number of claims by chapter, group and verdict, as LaTeX."""
    verdicts = chapters.verdicts(study)
    counts = Counter((chapter.title, group, claim.answer.verdict) for chapter, group, claim in verdicts)
    lines = [
        [latex.escape(title), *(str(counts[title, group, word] or NONE) for group in GROUPS for word in claims.WORDS)]
        for title in dict.fromkeys(chapter.title for chapter, *_ in verdicts)
    ]
    head = latex.group_head(["Section"], dict.fromkeys(GROUPS.values(), claims.WORDS))
    return latex.table("@{}l" + "r" * (len(head) - 1) + "@{}", head, lines)


def numbers(study):
    """The numbers about all verdicts together, and about the cases behind them."""
    verdicts = chapters.verdicts(study)
    groups = {name: [claim for _, group, claim in verdicts if group == name] for name in GROUPS}
    cases = {case for *_, claim in verdicts if claim.answer.ratio for case in claim.answer.ratio.cases}
    return {
        "study/verdicts/count": f"\\num{{{len(groups['earlier'])}}}",
        **{f"study/verdicts/{name}": verdict_table.tally(group) for name, group in groups.items()},
        "study/toy": toy(study, {machine for machine, *_ in cases}),
        **samples_behind(study, cases),
    }


def toy(study, verdict_machines):
    """The machine of this build, if it has measurements and no verdict is based on them; else None."""
    local = [name for name in study.machines() if not name.endswith(PUBLISHED)]
    return code(local[0]) if local and local[0] not in verdict_machines else None


def samples_behind(study, cases):
    """The numbers of processes of each case behind the verdicts, and of samples of each process."""
    samples = study.all_rows("samples", *queries.RECORD, "phase", "process", "sample")
    if samples.empty or not cases:
        return {"study/behind/processes": None, "study/behind/samples": None}
    calls = samples[samples["phase"] == "total"]
    calls = calls[pd.MultiIndex.from_frame(calls[["machine", *queries.CASE]]).isin(list(cases))]
    by_case = calls.drop_duplicates(["machine", *queries.CASE, "process", "sample"]).groupby(["machine", *queries.CASE])
    return {
        "study/behind/processes": span(by_case["process"].nunique()),
        "study/behind/samples": span(calls.groupby(["experiment", "machine", *queries.CASE, "process"]).size()),
    }
