"""What chapters say stays the same where every case has a second one that differs in a tuning nobody knows of."""

import pandas as pd
import pytest

import made_up
import made_up_backprop
import made_up_dcgan
import made_up_descent
import made_up_gemv
import made_up_products
from ladder.report import chapters, texts
from ladder.report.study import Study

SLOWER = 1000.0  # times, so that the second case is never the best, and would move every median that it is part of


def doubled(found):
    """The study with a second case behind each, slower by far."""
    tables = {name: {key: twice(frame) for key, frame in some.items()} for name, some in found.tables.items()}
    return Study(tables, found.subject, found.descriptions, found.roofs)


def twice(frame):
    """A table with the rows of the second cases behind those of the first."""
    if frame.empty or "case" not in frame:
        return frame
    second = frame.assign(case=frame["case"] + ",frobnicate=2", frobnicate=2.0)
    for column in {"seconds", "sustained", "joules", "cold_start"} & {*frame.columns}:
        second[column] = SLOWER * second[column]
    return pd.concat([frame, second], ignore_index=True)


def tables(chapter, found):
    """The tables of a chapter, {name: LaTeX}."""
    return {name: chapter.table(name, found) for name in chapter.tables}


@pytest.mark.slow
@pytest.mark.surroundings
@pytest.mark.parametrize(
    ("workload", "made"),
    [
        ("gemv", made_up_gemv),
        ("mlp", made_up_products),
        ("backprop", made_up_backprop),
        ("descent", made_up_descent),
        ("dcgan", made_up_dcgan),
        ("gemm", made_up),
    ],
)
def test_a_chapter_says_the_same_beside_cases_of_another_tuning(workload, made):
    """What it says is the same, and every line of its tables stands in them."""
    found = made.study()
    (chapter,) = (one for one in chapters.chapters() if one.workload == workload)
    before, after = (texts.rendered_chapter(chapter, one) for one in (found, doubled(found)))
    assert {key: after[key] for key in before if after[key] != before[key]} == {}
    again = tables(chapter, doubled(found))
    lost = {
        name: [line for line in text.splitlines() if line not in again[name]]
        for name, text in tables(chapter, found).items()
    }
    assert {name: some for name, some in lost.items() if some} == {}
