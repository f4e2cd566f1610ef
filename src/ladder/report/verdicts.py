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
from ladder.statistics.campaigns import MIN_CAMPAIGNS, MIN_PROCESSES
from ladder.store import PUBLISHED_SUFFIX
from ladder.store import study as queries

GROUPS = {"numbers": "with a number", "directions": "without a number", "own": "our own claims"}
COLUMNS = (
    *("chapter", "group", "claim", "text", "least", "most", "now", "low", "high", "verdict", "detectable", "cause"),
    *("place", "campaigns", "processes", "within", "between", "converged", "machines", "cases"),
)
# Patterns in the LaTeX of claims, and their replacements in plain text: `\num{1.5}\,$\times$` becomes 1.5 x.
LATEX_REPLACEMENTS = (
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

    `group` is one of GROUPS; `place` is where the earlier study makes the claim. The claimed ratio is from `least` to
    `most`, empty without such a bound. `now`, `low` and `high` are the measured ratio and its interval, empty if
    nothing was measured; `detectable` is the smallest difference that would have been detected. `campaigns` is the
    number of campaigns with this ratio, `processes` the smallest number of processes of a side in any of them;
    `within` and `between` are the standard deviations of the ratio's logarithm within and between campaigns, empty if
    unknown. `cases` and `machines` are those measured, separated by blanks; `converged` says whether all of these cases
    converged.
    """
    return pd.DataFrame([row(*verdict) for verdict in chapters.verdicts(study)], columns=list(COLUMNS))


def row(chapter, group, claim):
    """The row of one claim."""
    ratio, detectable = claim.answer.ratio, claim.answer.detectable
    cases, spread = (ratio.cases, ratio.spread) if ratio else ((), None)
    return {
        "chapter": chapter.workload,
        "group": group,
        "claim": claim.key,
        "text": plain_text(claim.text),
        "least": claim.answer.lower or None,
        "most": claim.answer.upper if claim.answer.upper < math.inf else None,
        "now": ratio.value if ratio else None,
        "low": ratio.low if ratio else None,
        "high": ratio.high if ratio else None,
        "verdict": claim.answer.verdict,
        "detectable": detectable if ratio and claim.answer.verdict == claims.UNDECIDED else None,
        "cause": plain_text(claim.cause or ""),
        "place": plain_text(claim.place),
        "campaigns": spread.campaigns if spread else None,
        "processes": spread.processes if spread else None,
        "within": spread.sd_within if spread else None,
        "between": spread.sd_between if spread else None,
        "converged": claim.converged if cases else None,
        "machines": " ".join(dict.fromkeys(machine.removesuffix(PUBLISHED_SUFFIX) for machine, *_ in cases)),
        "cases": " ".join("/".join(case) for _, *case in cases),
    }


def plain_text(text):
    """LaTeX of a claim as plain text."""
    for pattern, replacement in LATEX_REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    return " ".join(text.split()).replace(" ,", ",")


def table(study):
    """The number of claims with each verdict, by chapter and GROUPS, as LaTeX."""
    verdicts = chapters.verdicts(study)
    counts = Counter((chapter.title, group, claim.answer.verdict) for chapter, group, claim in verdicts)
    table_rows = []
    for title in dict.fromkeys(chapter.title for chapter, *_ in verdicts):
        groups = [group for group in GROUPS if any(key[:2] == (title, group) for key in counts)]
        for index, group in enumerate(groups):
            group_counts = (str(counts[title, group, word] or NONE) for word in claims.VERDICTS)
            table_rows.append([latex.escape(title) if index == 0 else "", GROUPS[group], *group_counts])
    return latex.table(
        "@{}ll" + "r" * len(claims.VERDICTS) + "@{}", ["Section", "Claims", *claims.VERDICTS], table_rows
    )


def numbers(study):
    """The numbers about all verdicts together, and about the cases behind them."""
    verdicts = chapters.verdicts(study)
    groups = {name: [claim for _, group, claim in verdicts if group == name] for name in GROUPS}
    cases = {case for *_, claim in verdicts if claim.answer.ratio for case in claim.answer.ratio.cases}
    return {
        **{f"study/verdicts/{name}/count": f"\\num{{{len(group)}}}" for name, group in groups.items()},
        **{f"study/verdicts/{name}": verdict_table.tally(group) for name, group in groups.items()},
        "study/verdicts/every": verdict_table.tally([claim for *_, claim in verdicts]),
        "study/verdicts/replicated": replicated_count(verdicts),
        "study/verdicts/full": full_campaigns_count(verdicts),
        "study/toy": toy_machine(study),
        "study/behind/processes": processes_behind(study, cases),
    }


def replicated_count(verdicts):
    """How many tested claims rest on MIN_CAMPAIGNS or more, as `9 of 44` or `all 44`; None without any."""
    ratios = [claim.answer.ratio for *_, claim in verdicts if claim.answer.ratio]
    spreads = [ratio.spread for ratio in ratios if ratio.spread]
    count = sum(spread.campaigns >= MIN_CAMPAIGNS for spread in spreads)
    part = "all" if count == len(spreads) else f"\\num{{{count}}} of"
    return f"{part} \\num{{{len(spreads)}}}" if spreads else None


def full_campaigns_count(verdicts):
    """How many decided verdicts rest on MIN_PROCESSES of each side or more in each campaign, as `80 of 96`; or None."""
    answers = [
        claim.answer for *_, claim in verdicts if claim.answer.verdict not in (claims.UNDECIDED, claims.NOT_TESTED)
    ]
    count = sum(answer.ratio.spread.processes >= MIN_PROCESSES for answer in answers)
    return f"\\num{{{count}}} of \\num{{{len(answers)}}}" if answers else None


def toy_machine(study):
    """The machine of this build, if it has measurements, but too few or too small ones for any chapter; else None."""
    local = [name for name in study.machines() if not name.endswith(PUBLISHED_SUFFIX)]
    studies = [chapter.study(study) for chapter in dict.fromkeys(chapter for chapter, *_ in chapters.verdicts(study))]
    chapter_machines = {
        role_study.machine_name for chapter_study in studies for role_study in chapter_study.machines.values()
    }
    return code(local[0]) if local and local[0] not in chapter_machines else None


def processes_behind(study, cases):
    """The range of the number of processes that a case behind the verdicts has in a campaign, as LaTeX; or None."""
    samples = study.all_rows("samples", "machine", *queries.CASE, "campaign", "phase", "process")
    if samples.empty or not cases:
        return None
    keys = ["machine", *queries.CASE]
    calls = samples[(samples["phase"] == "total") & samples["campaign"].notna()]
    calls = calls[pd.MultiIndex.from_frame(calls[keys]).isin(list(cases))]
    return span(calls.groupby([*keys, "campaign"])["process"].nunique())
