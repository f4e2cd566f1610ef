"""How many cards pay, by what was published: calls of one variant on 1, 2 or more of them, by the number of images."""

import json
from pathlib import Path

import numpy as np

from ladder.report import collect

NAMES = ["workload", "variant", "case", "process", "phase", "seconds", "images", "gpus"]


def cards(times, images, most):
    """The number of cards, at most `most`, with the least time for so many images, of {cards: {images: seconds}}.

    Between two numbers of images the time lies on a line, beyond them it is in proportion to the images. Of equal times
    the one with fewer cards counts; one card where nothing is known.
    """
    known = {count: seconds_at(by_images, images) for count, by_images in times.items() if count <= most and by_images}
    return min(sorted(known), key=known.get, default=1)


def seconds_at(by_images, images):
    """The seconds for so many images."""
    there = sorted(by_images)
    if images > there[-1]:
        return by_images[there[-1]] * images / there[-1]
    return float(np.interp(images, there, [by_images[one] for one in there]))


def measured(workload, variant, model, folder="results/published"):
    """{cards: {images: seconds}} of a variant, the fastest case of each, from the machine with most on such a card."""
    found = [times_of(path.parent, workload, variant) for path in machines(model, folder)]
    return max(found, key=len, default={})


def machines(model, folder):
    """The descriptions of the published machines with cards of a model."""
    for path in sorted(Path(folder).glob("*/machine.json")):
        gpus = json.loads(path.read_text()).get("description", {}).get("gpus") or []
        if any(gpu.get("name") == model for gpu in gpus):
            yield path


def times_of(folder, workload, variant):
    """{cards: {images: seconds}} of what one machine published."""
    frame = collect.read_csv(folder / "samples.csv.gz")
    if not set(NAMES) <= set(frame.columns):
        return {}
    frame = frame[(frame["workload"] == workload) & (frame["variant"] == variant) & (frame["phase"] == "total")]
    medians = frame.groupby(["gpus", "images", "case"])["seconds"].median().groupby(["gpus", "images"]).min()
    found = {}
    for (count, images), seconds in medians.items():
        found.setdefault(int(count), {})[int(images)] = float(seconds)
    return found
