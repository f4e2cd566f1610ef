"""How many cards pay, by what was published: calls of one variant on 1, 2 or more of them, by the number of images.

Publishing writes them to the small file CARDS, so that the verb `generate` need not read all that was measured.
"""

import json
from pathlib import Path

import numpy as np

CARDS = "cards.json"
# More images than anybody makes: where a search ends.
MOST = 10**8


def rows_of(frame):
    """What CARDS holds of some timed calls: a dict for each case with a tuning `gpus` whose cold start was measured."""
    from ladder.records.case import Case
    from ladder.report import study
    from ladder.statistics import claims

    if not {"gpus", "cold_start"} <= set(frame.columns):
        return []
    found = []
    for key, rows in frame.dropna(subset=["gpus", "cold_start"]).groupby(study.CASE):
        case = Case.parse(*key)
        tuning = {name: value for name, value in case.tuning.items() if name != "gpus"}
        found.append(
            {
                "workload": case.workload,
                "variant": case.variant,
                "tuning": tuning,
                "gpus": case.tuning["gpus"],
                "images": case.sizes["images"],
                "seconds": claims.middle(study.processes(rows)),
                "cold_start": float(rows.groupby("process")["cold_start"].first().median()),
            }
        )
    return found


def measured(workload, variant, tuning, model, folder="results/published"):
    """{cards: {images: (seconds, cold start)}} of a tuning, from the machine with most cards of that model."""
    chosen = {"workload": workload, "variant": variant, "tuning": tuning}
    return max((times_of(path, chosen) for path in machines(model, folder)), key=len, default={})


def machines(model, folder):
    """The files of published machines with cards of a model."""
    for path in sorted(Path(folder).glob(f"*/{CARDS}")):
        about = json.loads((path.parent / "machine.json").read_text())
        if any(gpu.get("name") == model for gpu in about["description"].get("gpus") or []):
            yield path


def times_of(path, chosen):
    """{cards: {images: (seconds, cold start)}} of the rows of a file that have these values."""
    found = {}
    for row in json.loads(path.read_text()):
        if chosen.items() <= row.items():
            found.setdefault(row["gpus"], {})[row["images"]] = row["seconds"], row["cold_start"]
    return found


def cards(times, images, most):
    """The number of cards, at most `most`, with the least time for a process that makes so many images.

    `times` are as `measured` gives them. Of equal times the one with fewer cards counts; one card where nothing is
    known.
    """
    known = {count: duration(found, images) for count, found in times.items() if count <= most and found}
    return min(sorted(known), key=known.get, default=1)


def pays_from(times, count):
    """The least number of images from which on so many cards take less time than fewer; None if they never do."""
    if cards(times, MOST, count) != count:
        return None
    low, high = 0, MOST  # they don't pay at the lower one, and do at the higher
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cards(times, middle, count) == count else (middle, high)
    return high


def duration(found, images):
    """The seconds of a process that makes images: its cold start, and what further images take.

    Between two numbers of images a cold start lies on a line; beyond the most that were measured, images take what they
    do in such a call.
    """
    there = sorted(found)
    start = float(np.interp(images, there, [found[one][1] for one in there]))
    return start + max(0, images - there[-1]) * found[there[-1]][0] / there[-1]
