"""The chapters stay the same if every case has a second one, which differs in an unknown tuning."""

import pandas as pd
import pytest

import chapter
from ladder.catalogue.traits import gpus
from ladder.store.study import Study
from made_up import chapters as made_chapters

SLOWDOWN = 1000.0  # the factor of the second case: it is never the best, and would change any median that it enters


def double_cases(study):
    """The study with a second, much slower case after each case."""
    tables = {
        experiment: {name: double_rows(frame) for name, frame in frames.items()}
        for experiment, frames in study.tables.items()
    }
    return Study(tables, study.machine_name, study.descriptions, study.roofs)


def double_rows(frame):
    """A table with the rows of the second cases after those of the first."""
    if frame.empty or "case" not in frame:
        return frame
    second = frame.assign(case=frame["case"] + ",frobnicate=2", frobnicate=2.0)
    for column in {"seconds", "sustained", "joules", "cold_start"} & {*frame.columns}:
        second[column] = SLOWDOWN * second[column]
    return pd.concat([frame, second], ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize("workload", made_chapters.WORKLOADS)
def test_a_chapter_says_the_same_beside_cases_of_another_tuning(workload):
    """The text and every line of the tables stay; products on GPUs are skipped, because their table counts cases."""
    study = made_chapters.study(workload, drop=lambda case: workload == "gemm" and gpus(case) > 0)
    assert chapter.text(workload, double_cases(study)) == chapter.text(workload, study)
    tables_of_doubled = chapter.tables(workload, double_cases(study))
    lost_lines = {
        name: [line for line in text.splitlines() if line not in tables_of_doubled[name]]
        for name, text in chapter.tables(workload, study).items()
    }
    assert {name: values for name, values in lost_lines.items() if values} == {}
