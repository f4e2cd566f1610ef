"""Why a claim has its verdict, in a sentence, and the cases that it rests on: additions to the rows of verdicts."""

import pandas as pd

from ladder.statistics import claims
from ladder.statistics.verdicts import MARGIN, THRESHOLD
from ladder.store import PUBLISHED_SUFFIX

MARGIN_TEXT, THRESHOLD_TEXT = f"{100 * MARGIN:.0f} %", f"{100 * THRESHOLD:.0f} %"
WITHIN_MARGIN, BEYOND_MARGIN = f"within {MARGIN_TEXT} of 1", f"more than {MARGIN_TEXT} from 1"
ABOVE_ONE, BELOW_ONE = (f"more than {THRESHOLD_TEXT} {side} 1" for side in ("above", "below"))
EQUALITY, CLAIM_ABOVE_ONE, CLAIM_BELOW_ONE, NUMBER = "equality", "above 1", "below 1", "number"  # the kinds of claims
CLAIM_SENTENCES = {
    EQUALITY: "Equality is claimed, a ratio of 1",
    CLAIM_ABOVE_ONE: "A ratio above 1 is claimed",
    CLAIM_BELOW_ONE: "A ratio below 1 is claimed",
}
MEASURED_CLAUSES = {
    (claims.OPPOSITE, EQUALITY): f"all of the interval lies {BEYOND_MARGIN}",
    (claims.OPPOSITE, CLAIM_ABOVE_ONE): f"all of the interval lies {BELOW_ONE}",
    (claims.OPPOSITE, CLAIM_BELOW_ONE): f"all of the interval lies {ABOVE_ONE}",
    (claims.OPPOSITE, NUMBER): "all of the interval lies on the other side of 1",
    (claims.AS_CLAIMED, EQUALITY): f"all of the interval lies {WITHIN_MARGIN}",
    (claims.AS_CLAIMED, CLAIM_ABOVE_ONE): f"all of the interval lies {ABOVE_ONE}",
    (claims.AS_CLAIMED, CLAIM_BELOW_ONE): f"all of the interval lies {BELOW_ONE}",
    (claims.AS_CLAIMED, NUMBER): f"all of the interval agrees with it within {MARGIN_TEXT}",
}
# Clauses for claims of every kind.
CLAUSES_OF_ANY_KIND = {
    claims.NO_EFFECT: f"all of the interval lies {WITHIN_MARGIN}, and it has no direction",
    claims.LESS: "all of the interval falls short of it",
    claims.MORE: "all of the interval lies beyond it",
    claims.UNDECIDED: "the interval is too wide to confirm or to refute that",
}


def rows(claim_rows, index):
    """The rows of `report.verdicts` with `explanation`, a sentence or "", and `links`, [(text, number of a case)].

    `index` is the result of `cases.index_of`; a case that the page doesn't have, such as a part of another one, has no
    link.
    """
    return [row | {"explanation": explanation(row), "links": links(row, index)} for row in claim_rows]


def explanation(row):
    """How the verdict follows from the claim and the interval; empty if the claim wasn't tested."""
    verdict = row["verdict"]
    if verdict == claims.NOT_TESTED:
        return ""
    kind = kind_of(row)
    measured = MEASURED_CLAUSES.get((verdict, kind)) or CLAUSES_OF_ANY_KIND[verdict]
    return f"{CLAIM_SENTENCES.get(kind, 'A number is claimed')}; {measured}."


def kind_of(row):
    """What a row claims: EQUALITY, a direction without a number, or a NUMBER."""
    ends = tuple(None if pd.isna(row[name]) else row[name] for name in ("least", "most"))
    return {(1, 1): EQUALITY, (1, None): CLAIM_ABOVE_ONE, (None, 1): CLAIM_BELOW_ONE}.get(ends, NUMBER)


def links(row, index):
    """The cases behind a row, as [(text, number)]: the variant, with the sizes and tunings that differ among them."""
    keys = [tuple(key.split("/")) for key in (row["cases"] or "").split()]
    pairs = {key: dict(pair.split("=", 1) for pair in key[-1].split(",")) for key in keys}
    names = dict.fromkeys(name for values in pairs.values() for name in values)
    differing = [name for name in names if len({values.get(name) for values in pairs.values()}) > 1]
    links_of_cases = []
    for key, values in pairs.items():
        number = number_of(key, row["machines"].split(), index)
        text = ", ".join([key[1], *(f"{name}={values[name]}" for name in differing if name in values)])
        links_of_cases += [] if number is None else [(text, number)]
    return links_of_cases


def number_of(key, machines, index):
    """The number of a case on the first of these machines that has it, measured here or published; None without one."""
    keys = [(machine + suffix, *key) for machine in machines for suffix in ("", PUBLISHED_SUFFIX)]
    return next((index[key] for key in keys if key in index), None)
