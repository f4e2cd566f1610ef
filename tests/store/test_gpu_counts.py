"""The times by number of GPUs that are published for `generate`, and the duration of a process by these times."""

import json

import pandas as pd

import made_up
from ladder.catalogue.workloads import complete
from ladder.records.case import Case
from ladder.store import gpu_counts


def times_entry(gpus, images, seconds, **further_columns):
    entry = {"workload": "w", "variant": "v", "sizes": {"channels": 3}, "tuning": {"batch": 2}, "gpus": gpus}
    return entry | {"images": images, "seconds": seconds, "cold_start": 10 * seconds} | further_columns


def test_times_by_gpus_are_those_of_the_machine_that_measured_on_most(tmp_path):
    """They are of the variant at the same sizes and tuning, on GPUs of the same model."""
    foreign = [
        times_entry(8, 5, 9.0, tuning={"batch": 1}),
        times_entry(8, 5, 9.0, sizes={}),
        times_entry(8, 5, 9.0, variant="other"),
    ]
    machines = {
        "a": ("model", [times_entry(1, 5, 1.0)]),
        "b": ("model", [*foreign, times_entry(1, 5, 2.0), times_entry(1, 7, 3.0), times_entry(2, 5, 4.0)]),
        "c": ("model", [times_entry(1, 5, 5.0)]),
        "d": ("another", [times_entry(count, 5, 6.0) for count in (1, 2, 4)]),
    }
    for name, (model, rows) in machines.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / gpu_counts.TIMES_FILE).write_text(json.dumps(rows))
        description = made_up.description() | {"gpus": [{"name": model}]}
        (tmp_path / name / "machine.json").write_text(json.dumps({"machine": name, "description": description}))
    times_of_most = gpu_counts.published_times("w", {"channels": 3}, "v", {"batch": 2}, "model", tmp_path)
    # {GPUs: {images: (seconds, cold start)}}.
    assert times_of_most == {1: {5: (2.0, 20.0), 7: (3.0, 30.0)}, 2: {5: (4.0, 40.0)}}


def test_the_duration_of_a_process_is_interpolated_and_extrapolated_by_its_images():
    by_images = {10: (0.5, 1.0), 1000: (10.0, 11.0)}  # {images: (seconds, cold start)}
    # From 10 to 1000 images, a cold start takes 10 s longer; beyond, an image takes 10 s / 1000.
    assert [gpu_counts.duration(by_images, images) for images in (1, 10, 505, 1000, 2000)] == [
        1.0,
        1.0,
        6.0,
        11.0,
        21.0,
    ]


def test_a_cold_start_is_the_median_over_the_processes():
    case = Case("dcgan", "cuda", complete("dcgan", {"images": 7}), {"gpus": 2, "batch": 5})
    columns = {"machine": "here", "experiment": "one", "workload": "dcgan", "variant": "cuda", "case": case.slug}
    columns |= {"gpus": 2, "images": 7, "phase": "total"}
    # (cold start, seconds of the samples); the medians of the processes' medians and cold starts are 3.0 and 6.0.
    processes = [(4.0, (1.0, 1.0, 9.0)), (30.0, (3.0, 3.0, 3.0)), (6.0, (4.0,))]
    rows = [
        columns
        | {"process": number, "sample": sample, "seconds": seconds, "cold_start": cold_start if sample == 0 else None}
        for number, (cold_start, values) in enumerate(processes)
        for sample, seconds in enumerate(values)
    ]
    frame = pd.DataFrame(rows)
    frame["cold_start"] = frame.groupby("process")["cold_start"].ffill()
    (times,) = gpu_counts.rows_of(frame)
    assert (times["gpus"], times["images"], times["seconds"], times["cold_start"]) == (2, 7, 3.0, 6.0)
    assert times["tuning"] == {"batch": 5}
    assert "images" not in times["sizes"]
