"""Samples of two cases are never pooled, whatever column they differ in."""

import itertools

import pandas as pd
import pytest

from ladder.report import cells, ladder_table, ratios
from ladder.report.figures import medians
from ladder.statistics import quotients
from ladder.store import gpu_counts, study

SECONDS = {8: 1.0, 64: 100.0}  # {value of the column: seconds}; a median over both cases would equal neither
SIZES = {"elements": 10, "dtype": "float64"}


def rows(seconds=None, threads=(1, 2), column="frobnicate", **common):
    """Timed calls of the variant `mine`: for each number of threads two cases, which differ in an unknown column."""
    samples = []
    for count, (value, time) in itertools.product(threads, (seconds or SECONDS).items()):
        slug = f"elements=10,dtype=float64,cache=cold,{column}={value},threads={count}"
        columns = {"machine": "here", "experiment": "e", "workload": "stream", "variant": "mine", "case": slug}
        columns |= SIZES | {"cache": "cold", column: value, "threads": count, "device": "host", "phase": "total"}
        columns |= {
            "converged": True,
            "flops": 1e6,
            "bytes": 1e6,
            "joules": time,
            "sustained": time,
            "cold_start": time,
        }
        for process, sample in itertools.product(range(5), range(3)):
            noise = 1 + (process + sample) / 1000
            samples.append(columns | common | {"process": process, "sample": sample, "seconds": time * noise})
    return pd.DataFrame(samples)


def is_time_of_one_case(seconds):
    """Whether a time is that of a single case."""
    return any(0.95 < seconds / case_seconds < 1.05 for case_seconds in SECONDS.values())


ONE_CASE = rows(threads=(1,))
OTHER_CASE = study.first_case(rows({8: 2.0}, threads=(1,)))


# {function: (its value, the expected one, of the case with the time of 1 s)}.
VALUES = {
    "median_time": (study.median_time(ONE_CASE), 1.0),
    "processes": (quotients.median_time(study.processes(ONE_CASE)), 1.0),
    "energy": (study.energy(ONE_CASE), 1.0),
    "sustained": (study.median_time(study.sustained(ONE_CASE)), 1.0),
    "fastest": (study.median_time(study.fastest(ONE_CASE)), 1.0),
    "best_and_test_rows": (study.median_time(study.best_and_test_rows(study.by_threads(ONE_CASE))[1]), 1.0),
    "over_seconds": (ratios.over_seconds(ONE_CASE, 2.0).value, 0.5),
    "of, in the numerator": (ratios.of(ONE_CASE, OTHER_CASE).value, 0.5),
    "of, in the denominator": (ratios.of(OTHER_CASE, ONE_CASE).value, 2.0),
    "of_best": (ratios.of_best(OTHER_CASE, {1: ONE_CASE}).value, 2.0),
    "passes": (ratios.of(*map(study.pass_totals, (ONE_CASE, OTHER_CASE))).value, 0.5),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.values(), ids=VALUES)
def test_functions_of_one_case_use_the_first_of_the_plan(value, expected):
    assert value == pytest.approx(expected, rel=0.02)


def test_a_ratio_names_only_the_cases_that_it_uses():
    assert len(ratios.of(ONE_CASE, OTHER_CASE).cases) == len(ratios.over_seconds(ONE_CASE, 1.0).cases) == 1


def test_cells_of_tables_have_the_time_of_one_case():
    rung = ladder_table.Rung("mine", "", "", None, ONE_CASE)
    assert (
        cells.median(ONE_CASE)
        == ladder_table.measured_time(ONE_CASE)
        == ladder_table.cells(rung)[-1]
        == r"\qty{1.00}{\second}"
    )


@pytest.mark.parametrize("columns", [("method", "threads"), ("method",), ("variant", "dtype", "threads")])
def test_summaries_are_of_a_case_each(columns):
    frame = medians.samples({"samples": rows()})
    summaries = medians.summaries(frame, columns)
    assert len(summaries) == study.count_cases(frame) == 4
    assert summaries["median"].map(is_time_of_one_case).all()
    assert medians.first_cases(summaries, columns)["median"].max() < 2


def test_a_case_of_two_experiments_is_summed_up_once():
    frame = pd.concat([ONE_CASE, ONE_CASE.assign(experiment="f", seconds=50.0)])
    assert medians.summaries(frame, ("variant",))["median"].map(is_time_of_one_case).all()


def test_times_by_gpus_are_of_a_case_each():
    slugs = {value: f"images=4,cache=cold,frobnicate={value},gpus=1" for value in SECONDS}
    frame = rows(threads=(1,)).assign(gpus=1, images=4)
    frame["case"] = frame["frobnicate"].map(slugs)
    assert [is_time_of_one_case(row["seconds"]) for row in gpu_counts.rows_of(frame)] == [True, True]
