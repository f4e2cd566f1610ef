"""How many cards pay, by what was published: calls of one variant on 1, 2 or more of them, by the number of images."""

import json
from pathlib import Path

import numpy as np

from ladder.records.case import Case
from ladder.report import collect, study
from ladder.statistics import claims

NAMES = ["workload", "variant", "case", "process", "phase", "seconds", "images", "gpus"]


def cards(times, images, most):
    """The number of cards, at most `most`, with the least time for so many images, of {cards: {images: seconds}}.

    Between two numbers of images the time lies on a line, beyond them it is in proportion to the images. Of equal times
    the one with fewer cards counts; one card where nothing is known.
    """
    known = {count: seconds_at(by_images, images) for count, by_images in times.items() if count <= most and by_images}
    return min(sorted(known), key=known.get, default=1)


def pays_from(times, count):
    """The smallest number of images from which on so many cards pay; None if they don't at the most images."""
    least = None
    for images in range(max(times.get(count, {1: 0})), 0, -1):
        if cards(times, images, count) != count:
            break
        least = images
    return least


def seconds_at(by_images, images):
    """The seconds for so many images."""
    there = sorted(by_images)
    if images > there[-1]:
        return by_images[there[-1]] * images / there[-1]
    return float(np.interp(images, there, [by_images[one] for one in there]))


def measured(workload, variant, tuning, model, folder="results/published"):
    """{cards: {images: seconds}} of a variant's tuning, from the machine with most cards of that model."""
    found = []
    for path in machines(model, folder):
        frame = collect.read_csv(path.parent / "samples.csv.gz")
        if set(NAMES) <= set(frame.columns):
            found.append(times_of(study.where(frame, workload=workload, variant=variant, phase="total"), tuning))
    return max(found, key=len, default={})


def machines(model, folder):
    """The descriptions of the published machines with cards of a model."""
    for path in sorted(Path(folder).glob("*/machine.json")):
        gpus = json.loads(path.read_text()).get("description", {}).get("gpus") or []
        if any(gpu.get("name") == model for gpu in gpus):
            yield path


def times_of(frame, tuning):
    """{cards: {images: seconds}} of the timed calls of one variant, those of a tuning beside its number of cards."""
    found = {}
    for (workload, variant, slug), rows in frame.groupby(study.CASE):
        case = Case.parse(workload, variant, slug)
        if case.tuning == tuning | {"gpus": case.tuning.get("gpus")}:
            seconds = claims.middle(study.processes(rows))
            found.setdefault(case.tuning["gpus"], {})[case.sizes["images"]] = seconds
    return found
