"""Why a claim has its verdict, in a sentence, and the cases that it rests on: additions to the rows of verdicts."""

import pandas as pd

from ladder.statistics import claims
from ladder.statistics.verdicts import MARGIN, THRESHOLD
from ladder.store import PUBLISHED

FAR, NEAR = f"{100 * MARGIN:.0f} %", f"{100 * THRESHOLD:.0f} %"
WITHIN, BEYOND = f"within {FAR} of 1", f"more than {FAR} from 1"
LARGER, SMALLER = (f"more than {NEAR} {side} 1" for side in ("above", "below"))
EQUALITY, UPWARDS, DOWNWARDS, NUMBER = "equality", "above 1", "below 1", "number"  # the kinds of claims
CLAIMED = {
    EQUALITY: "Equality is claimed, a ratio of 1",
    UPWARDS: "A ratio above 1 is claimed",
    DOWNWARDS: "A ratio below 1 is claimed",
}
MEASURED = {
    (claims.OPPOSITE, EQUALITY): f"all of the interval lies {BEYOND}",
    (claims.OPPOSITE, UPWARDS): f"all of the interval lies {SMALLER}",
    (claims.OPPOSITE, DOWNWARDS): f"all of the interval lies {LARGER}",
    (claims.OPPOSITE, NUMBER): "all of the interval lies on the other side of 1",
    (claims.AS_CLAIMED, EQUALITY): f"all of the interval lies {WITHIN}",
    (claims.AS_CLAIMED, UPWARDS): f"all of the interval lies {LARGER}",
    (claims.AS_CLAIMED, DOWNWARDS): f"all of the interval lies {SMALLER}",
    (claims.AS_CLAIMED, NUMBER): f"all of the interval agrees with it within {FAR}",
}
# Of claims of every kind.
OTHERWISE = {
    claims.NO_EFFECT: f"all of the interval lies {WITHIN}, and it has no direction",
    claims.LESS: "all of the interval falls short of it",
    claims.MORE: "all of the interval lies beyond it",
    claims.UNDECIDED: "the interval is too wide to confirm or to refute that",
}


def rows(claim_rows, index):
    """The rows of `report.verdicts` with `explanation`, a sentence or "", and `links`, [(text, number of a case)].

    `index` is `cases.index_of`; a case that the page doesn't have, such as a part of another one, has no link.
    """
    return [row | {"explanation": explanation(row), "links": links(row, index)} for row in claim_rows]


def explanation(row):
    """How the verdict follows from the claim and the interval; empty if the claim wasn't tested."""
    verdict = row["verdict"]
    if verdict == claims.NOT_TESTED:
        return ""
    kind = kind_of(row)
    measured = MEASURED.get((verdict, kind)) or OTHERWISE[verdict]
    return f"{CLAIMED.get(kind, 'A number is claimed')}; {measured}."


def kind_of(row):
    """What a row claims: EQUALITY, a direction without a number, or a NUMBER."""
    ends = tuple(None if pd.isna(row[name]) else row[name] for name in ("least", "most"))
    return {(1, 1): EQUALITY, (1, None): UPWARDS, (None, 1): DOWNWARDS}.get(ends, NUMBER)


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
    places = [(machine + suffix, *key) for machine in machines for suffix in ("", PUBLISHED)]
    return next((index[place] for place in places if place in index), None)
