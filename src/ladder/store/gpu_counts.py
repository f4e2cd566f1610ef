"""The number of GPUs that pays, by published times of calls on one GPU and on more, by the number of images.

No workload defines these two names: IMAGES is the size that the verb `generate` counts (`harness/generation.py`), and
GPUS is the tuning of every variant of the device `offload`.

Publishing writes the times to the small file TIMES, so that the verb `generate` need not read all measurements.
"""

from pathlib import Path

import numpy as np

from ladder.records import documents

TIMES = "cards.json"
IMAGES, GPUS = "images", "gpus"


def rows_of(frame):
    """The contents of TIMES for some timed calls: a dict for each case that has both, with its times.

    Cases without a cold start are skipped.
    """
    from ladder.records.case import Case  # here, like the next ones, because `generate` need not load pandas
    from ladder.statistics import claims
    from ladder.store import study

    if not {GPUS, IMAGES, "cold_start"} <= set(frame.columns):
        return []
    cases = []
    for key, rows in frame.dropna(subset=[GPUS, IMAGES, "cold_start"]).groupby(study.CASE):
        case = Case.parse(*key)
        cases.append(
            {
                "workload": case.workload,
                "variant": case.variant,
                "sizes": without(case.sizes, IMAGES),
                "tuning": without(case.tuning, GPUS),
                GPUS: case.tuning[GPUS],
                IMAGES: case.sizes[IMAGES],
                "seconds": claims.median_time(study.processes(rows)),
                "cold_start": float(rows.groupby("process")["cold_start"].first().median()),
            }
        )
    return cases


def without(values, name):
    """Sizes or tunings without one."""
    return {key: value for key, value in values.items() if key != name}


def measured(workload, sizes, variant, tuning, model, folder="results/published"):
    """{GPUs: {images: (seconds, cold start)}} of a variant's tuning, from the machine with most GPUs of that model.

    `sizes` are all but the number of images.
    """
    conditions = {"workload": workload, "variant": variant, "sizes": sizes, "tuning": tuning}
    return max((times_of(path, conditions) for path in machines(model, folder)), key=len, default={})


def machines(model, folder):
    """The files of published machines with GPUs of a model."""
    for path in sorted(Path(folder).glob(f"*/{TIMES}")):
        about = documents.read(path.parent / "machine.json", "publication")
        if any(gpu["name"] == model for gpu in about["description"]["gpus"]):
            yield path


def times_of(path, conditions):
    """{GPUs: {images: (seconds, cold start)}} of the rows of a file that have these values."""
    times = {}
    for row in documents.read(path, "times"):
        if conditions.items() <= row.items():
            times.setdefault(row[GPUS], {})[row[IMAGES]] = row["seconds"], row["cold_start"]
    return times


def best(times, images, max_gpus):
    """The number of GPUs, at most `max_gpus`, with the least time for a process that makes so many images.

    `times` are as `measured` gives them. Of equal times the one with fewer GPUs counts; 1 if nothing is
    known.
    """
    allowed = {count: by_images for count, by_images in times.items() if count <= max_gpus and by_images}
    known = {count: duration(by_images, images) for count, by_images in allowed.items()}
    return min(sorted(known), key=known.get, default=1)


def duration(times, images):
    """The seconds of a process that makes images: its cold start, and what further images take.

    Between two numbers of images a cold start lies on a line; beyond the largest number measured, images take as long
    as in that call.
    """
    sizes = sorted(times)
    start = float(np.interp(images, sizes, [times[number][1] for number in sizes]))
    return start + max(0, images - sizes[-1]) * times[sizes[-1]][0] / sizes[-1]
