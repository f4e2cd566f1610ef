"""What chapters say stays the same where every case has a second one that differs in a tuning nobody knows of."""

import pandas as pd
import pytest

import chapter
from ladder.catalogue.workloads import gpus
from ladder.store.study import Study
from made_up import chapters as made

SLOWER = 1000.0  # times, so that the second case is never the best, and would move every median that it is part of


def doubled(study):
    """The study with a second case behind each, slower by far."""
    tables = {
        name: {key: twice(frame) for key, frame in rows_of_table.items()}
        for name, rows_of_table in study.tables.items()
    }
    return Study(tables, study.subject, study.descriptions, study.roofs)


def twice(frame):
    """A table with the rows of the second cases behind those of the first."""
    if frame.empty or "case" not in frame:
        return frame
    second = frame.assign(case=frame["case"] + ",frobnicate=2", frobnicate=2.0)
    for column in {"seconds", "sustained", "joules", "cold_start"} & {*frame.columns}:
        second[column] = SLOWER * second[column]
    return pd.concat([frame, second], ignore_index=True)


@pytest.mark.slow
@pytest.mark.surroundings
@pytest.mark.parametrize("workload", made.CHAPTERS)
def test_a_chapter_says_the_same_beside_cases_of_another_tuning(workload):
    """What it says is the same, and every line of its tables stands in them; on a GPU that of products counts cases."""
    study = made.study(workload, drop=lambda case: workload == "gemm" and gpus(case) > 0)
    assert chapter.text(workload, doubled(study)) == chapter.text(workload, study)
    again = chapter.tables(workload, doubled(study))
    lost = {
        name: [line for line in text.splitlines() if line not in again[name]]
        for name, text in chapter.tables(workload, study).items()
    }
    assert {name: values for name, values in lost.items() if values} == {}
