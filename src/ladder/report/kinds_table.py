"""The table of verdicts on two kinds of machine: where verdicts don't rest on the machine of their chapter.

`machine_choice.replicated_machine` says where that is so. The machine of the chapter has campaigns, too, but too few
full ones.
"""

from ladder.report import chapters, latex, ratios, verdict_table
from ladder.report.cells import NONE
from ladder.statistics import claims
from ladder.store import PUBLISHED_SUFFIX

TITLES = ["Measured", "Campaigns", "Verdict"]


def claims_on_two_machines(study):
    """[(claim, the same claim on the machine of its chapter)] of all claims that rest on another machine."""
    both = zip(chapters.verdicts(study), chapters.verdicts(study, on_own_machines=True), strict=True)
    return [
        (claim, chapter_claim)
        for (*_, claim), (*_, chapter_claim) in both
        if machines(claim) != machines(chapter_claim)
    ]


def machines(claim):
    """The names of the machines on which the answer to a claim rests, sorted."""
    cases = claim.answer.ratio.cases if claim.answer.ratio else ()
    return sorted({machine.removesuffix(PUBLISHED_SUFFIX) for machine, *_ in cases})


def table(study):
    """Each of `claims_on_two_machines` with its ratio and verdict on both; a head for each pair of machines."""
    rows, last_names = [], None
    for claim, chapter_claim in claims_on_two_machines(study):
        names = (machines(chapter_claim), machines(claim))
        if names != last_names:
            rows += [None] if rows else []
            rows += [["", *(rf"\multicolumn{{3}}{{c}}{{{heading(side)}}}" for side in names)], None]
            last_names = names
        rows.append([claim.text, *cells(chapter_claim), *cells(claim)])
    columns = (
        r">{\raggedright\arraybackslash}p{0.3\linewidth}" + r"rr>{\raggedright\arraybackslash}p{0.1\linewidth}" * 2
    )
    return latex.table(columns, ["Claim", *TITLES, *TITLES], rows, "All verdicts rest on the machine of their section.")


def heading(names):
    """The machines of a verdict as LaTeX."""
    return ", ".join(map(latex.code, names)) or NONE


def cells(claim):
    """The cells of a claim on a machine."""
    ratio = claim.answer.ratio
    return [ratios.latex(ratio) if ratio else NONE, verdict_table.spread(ratio), claim.answer.verdict]


def numbers(study):
    """The machines on which `claims_on_two_machines` rest, and how many of those decided on both have one verdict."""
    compared = claims_on_two_machines(study)
    answers = [(claim.answer.verdict, chapter_claim.answer.verdict) for claim, chapter_claim in compared]
    decided = [pair for pair in answers if not {*pair} & {claims.UNDECIDED, claims.NOT_TESTED}]
    names = dict.fromkeys(name for claim, _ in compared for name in machines(claim))
    same_count = sum(verdict == other for verdict, other in decided)
    return {
        "study/verdicts/replacements": latex.enumeration(map(latex.code, names)) if names else None,
        "study/verdicts/alike": f"\\num{{{same_count}}} of \\num{{{len(decided)}}}" if decided else None,
    }
