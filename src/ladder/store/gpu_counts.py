"""The number of GPUs with which images are generated fastest, from published times on one GPU and on several.

IMAGES is the size that the verb `generate` sets to the number of images (`harness/generation.py`), and GPUS the tuning
that every variant of the device `offload` has.

Publishing writes the times to the small file TIMES_FILE, so that `generate` need not read all measurements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ladder.records import documents

if TYPE_CHECKING:
    import pandas as pd

TIMES_FILE = "cards.json"
IMAGES, GPUS = "images", "gpus"


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The contents of TIMES_FILE for a frame of timed calls: a dict for each case that has IMAGES and GPUS.

    Cases without a cold start are skipped.
    """
    from ladder.records.case import Case  # these imports are here so that `generate` doesn't load pandas
    from ladder.statistics import quotients
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
                "sizes": drop_key(case.sizes, IMAGES),
                "tuning": drop_key(case.tuning, GPUS),
                GPUS: case.tuning[GPUS],
                IMAGES: case.sizes[IMAGES],
                "seconds": quotients.median_time(study.processes(rows)),
                "cold_start": float(rows.groupby("process")["cold_start"].first().median()),
            }
        )
    return cases


def drop_key(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Sizes or tunings without the one of this name."""
    return {key: value for key, value in values.items() if key != name}


def published_times(
    workload: str,
    sizes: Mapping[str, Any],
    variant: str,
    tuning: Mapping[str, Any],
    model: str,
    folder: Path | str = "results/published",
) -> dict[int, dict[int, tuple[float, float]]]:
    """{GPUs: {images: (seconds, cold start)}} of a variant's tuning.

    They are from one published machine with GPUs of the `model`, the one with times for the most numbers of GPUs.
    `sizes` are without IMAGES, and `tuning` is without GPUS.
    """
    conditions = {"workload": workload, "variant": variant, "sizes": sizes, "tuning": tuning}
    return max((times_of(path, conditions) for path in times_files(model, folder)), key=len, default={})


def times_files(model: str, folder: Path | str) -> Iterator[Path]:
    """The paths of TIMES_FILE of the published machines with GPUs of a model."""
    for path in sorted(Path(folder).glob(f"*/{TIMES_FILE}")):
        publication = documents.read(path.parent / "machine.json", "publication")
        if any(gpu["name"] == model for gpu in publication["description"]["gpus"]):
            yield path


def times_of(path: Path, conditions: Mapping[str, Any]) -> dict[int, dict[int, tuple[float, float]]]:
    """{GPUs: {images: (seconds, cold start)}} of the rows of a file whose values equal these conditions."""
    times: dict[int, dict[int, tuple[float, float]]] = {}
    for row in documents.read(path, "times"):
        if conditions.items() <= row.items():
            times.setdefault(row[GPUS], {})[row[IMAGES]] = row["seconds"], row["cold_start"]
    return times


def best_count(times: Mapping[int, Mapping[int, tuple[float, float]]], images: int, max_gpus: int) -> int:
    """The number of GPUs, at most `max_gpus`, with which a process generates `images` images fastest.

    `times` are as `published_times` gives them. A tie goes to fewer GPUs; 1 without any times.
    """
    allowed = {count: by_images for count, by_images in times.items() if count <= max_gpus and by_images}
    durations = {count: duration(by_images, images) for count, by_images in allowed.items()}
    return min(sorted(durations), key=durations.__getitem__, default=1)


def duration(times: Mapping[int, tuple[float, float]], images: int) -> float:
    """The seconds of a process that generates images: its cold start, which includes the first call, and further calls.

    `times` is {images: (seconds, cold start)}. Cold starts are interpolated linearly. Beyond the largest measured
    number, each further image takes as long as an image of a call of that number.
    """
    sizes = sorted(times)
    start = float(np.interp(images, sizes, [times[number][1] for number in sizes]))
    return start + max(0, images - sizes[-1]) * times[sizes[-1]][0] / sizes[-1]
