"""Queries of a study, and the numbers and tables about it, compared with values computed by hand from a few rows."""

import itertools
import math
from types import SimpleNamespace

import pandas as pd
import pytest

import made_up
from ladder.planning import configuration
from ladder.report import about, latex, machines_table, validation_table, verdicts
from ladder.report.verdict_table import AnsweredClaim
from ladder.statistics import claims, quotients
from ladder.statistics.campaigns import Spread
from ladder.store import study as queries
from ladder.store.study import Study


def rows(*seconds, process=0, **further_columns):
    """Rows of a case, one for each sample."""
    columns = {
        "machine": "here",
        "experiment": "one",
        "workload": "gemm",
        "variant": "blas",
        "case": "n=1,cache=cold,threads=1",
    }
    columns |= {
        "process": process,
        "phase": "total",
        "cache": "cold",
        "device": "host",
        "threads": 1,
        "converged": True,
    }
    columns |= {"flops": 8.0, "bytes": 4.0} | further_columns
    return [columns | {"sample": number, "seconds": time} for number, time in enumerate(seconds)]


def frame(*row_lists):
    return pd.DataFrame([row for row_list in row_lists for row in row_list])


def test_the_median_of_a_case_is_that_of_the_processes_medians():
    samples = frame(rows(1.0, 1.0, 9.0), rows(3.0, 3.0, 3.0, process=1), rows(4.0, process=2))
    assert queries.median_time(samples) == 3.0
    assert queries.median_time(samples.iloc[:0]) is None
    assert queries.best_rate(samples, "flops") == 8.0
    assert queries.best_rate(samples, "bytes") == 4.0


def test_the_fastest_case_has_the_shortest_median_and_not_the_luckiest_sample():
    steady, lucky = rows(2.0, 2.0, 30.0, case="a"), rows(0.1, 3.0, 3.0, case="b", variant="tiled")
    assert set(queries.fastest(frame(lucky, steady))["case"]) == {"a"}


def test_energy_is_that_of_a_run_the_median_over_processes():
    row_lists = [
        rows(1.0, 1.0, process=number, joules=joules, sustained=0.5 + number)
        for number, joules in enumerate((2.0, 9.0, 3.0))
    ]
    without_sustained = rows(1.0, process=3, joules=100.0)
    assert queries.energy(frame(*row_lists, without_sustained)) == 3.0
    without_joules = rows(1.0, sustained=0.5)
    with_empty_sustained = rows(1.0, joules=1.0, sustained=None)
    assert [
        queries.energy(frame(row_list)) for row_list in (without_sustained, without_joules, with_empty_sustained)
    ] == [None] * 3
    assert queries.sustained(frame(*row_lists, without_sustained))["seconds"].tolist() == [0.5, 1.5, 2.5]


def test_sizes_and_caches_never_mix():
    """The size with the most work is taken, and cold before warm, with all tunings."""
    cases = itertools.product((1, 2), ("warm", "cold"), (1, 2))
    samples = frame(
        *(rows(1.0, case=f"n={n},cache={cache},threads={threads}", flops=8.0 * n) for n, cache, threads in cases)
    )
    assert queries.largest_size(samples)["case"].tolist() == ["n=2,cache=cold,threads=1", "n=2,cache=cold,threads=2"]


def test_rows_are_those_of_the_subject_in_an_experiment():
    tables = {"one": {"samples": frame(rows(1.0), rows(2.0, machine="there"), rows(3.0, phase="a"))}}
    study = Study(tables, "there")
    assert study.samples("one")["seconds"].tolist() == [2.0]
    assert study.for_machine("here").samples("one")["seconds"].tolist() == [1.0]
    assert study.for_machine("here").samples("one", phase="a")["seconds"].tolist() == [3.0]
    assert study.samples("other").empty


def test_machines_measured_here_come_before_published_ones():
    assert queries.sort_machines({"b", "a (published)", "c"}) == ["b", "c", "a (published)"]


def test_each_machine_is_described_by_its_own_description():
    """Rows are in the order of the machines, and a published machine has its mark."""
    other = made_up.description() | {"cores": 7, "memory": 2**34, "system": "Linux 5.4.0", "python": "3.12.1"}
    other["cpu"] = {
        "Model name": "Another",
        "L2 cache": "1 MiB (1 instance)",
        "L3 cache": "8 MiB",
        "Vector units": "sse",
    }
    other["libraries"] = {"numpy": "9.9", "torch": "2.0"}
    study = Study(
        {"one": {"samples": frame(rows(1.0, machine="there (published)"), rows(1.0))}},
        "here",
        {"there (published)": other, "here": made_up.description(), "unmeasured": other},
    )
    tables = (machines_table.machines(study), machines_table.software(study))
    cells = [
        [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if "texttt" in line] for text in tables
    ]
    gib = r"\qty{{{}}}{{\gibi\byte}}".format
    assert cells[0] == [
        [latex.code("here"), r"A CPU with 100\% of a\_name \& more", "24", gib("32.0"), "--", "2 MiB", "--", "avx2"],
        [r"\texttt{there}\published{}", "Another", "7", gib("16.0"), "--", "1 MiB", "8 MiB", "sse"],
    ]
    assert cells[1] == [
        [latex.code("here"), "Linux 6.1.0", "3.11.2", "2.4.6", "1.17.1", "0.68.1", "--", "--"],
        [r"\texttt{there}\published{}", "Linux 5.4.0", "3.12.1", "9.9", "--", "--", "--", "2.0"],
    ]


def test_the_numbers_of_a_study_are_those_of_its_subject():
    """Its cases, processes, samples of a process, caches and missing cases, not those of another machine."""
    local_rows = [rows(1.0, 2.0, process=number) for number in (0, 1)] + [
        rows(1.0, case="x", cache="warm", converged=False)
    ]
    samples = frame(*local_rows, rows(1.0, 1.0, 1.0, phase="a", case="y"), rows(*[1.0] * 9, machine="there", case="z"))
    reasons = {"a": "not measured", "b": "not measured", "c": "needs 64 cores, 2 available"}
    missing = frame(
        *(rows(1.0, case=case, why=reason) for case, reason in reasons.items()),
        rows(1.0, machine="there", why="not measured"),
    )
    local_study = Study({"one": {"samples": samples, "missing": missing, "checks": queries.NO_ROWS}}, "here")
    numbers = about.cases(local_study)
    assert numbers == {
        "measured": r"\num{2}",
        "skipped": r"\num{1}",
        "unmeasured": r"\num{2}",
        "converged": r"\num{1}",
        "processes": r"\numrange{1}{2}",
        "samples": r"\numrange{1}{2}",
        "caches": "cold and warm",
    }


def test_the_protocol_is_reported_with_its_units():
    protocol = {
        "processes": 4,
        "most_processes": 5,
        "samples": 6,
        "least": 7,
        "target": 0.025,
        "cap": 80,
        "phase_passes": 9,
    }
    numbers = about.protocol_numbers(configuration.protocol({}) | protocol, 1.25)
    counts = {"processes": 4, "most-processes": 5, "samples": 6, "least": 7, "phase-passes": 9}
    units = {"target": r"\qty{2.5}{\percent}", "cap": r"\qty{80}{\second}", "ceiling-margin": r"\qty{25}{\percent}"}
    assert numbers == {name: f"\\num{{{count}}}" for name, count in counts.items()} | units


def check_rows(case, *errors, bound=1.0, **further_columns):
    """Checks of a case, one for each error."""
    samples = rows(*errors, case=case, **further_columns)
    return [
        row | {"check": f"c{row['sample']}", "error": row["seconds"], "bound": bound, "dtype": "float64"}
        for row in samples
    ]


def test_validation_reports_the_check_that_uses_most_of_its_bound():
    """It isn't that with the largest error; a check in two experiments counts once."""
    repeated = check_rows("b", 0.25, variant="tiled", bound=0.5)
    samples = frame(rows(1.0))
    one = {"checks": frame(check_rows("a", 0.4, 0.1), repeated), "samples": samples}
    other = {"checks": frame(repeated).assign(experiment="other"), "samples": samples.assign(experiment="other")}
    study = Study({"one": one, "other": other}, "here")
    numbers = about.validation(study)
    assert (numbers["checks"], numbers["worst-share"]) == (r"\num{3}", r"\qty{50.0}{\percent}")
    assert numbers["worst-case"] == r"\texttt{tiled} of \texttt{gemm} in \texttt{float64}"
    nearest = validation_table.nearest_comparisons(study).set_index("variant")
    assert nearest.loc["tiled", ["cases", "comparisons", "error", "bound", "margin"]].tolist() == [1, 1, 0.25, 0.5, 2.0]
    assert nearest.loc["blas", ["cases", "comparisons", "check", "margin"]].tolist() == [1, 2, "c0", 2.5]
    (line,) = [line for line in validation_table.by_workload(study).splitlines() if "texttt" in line]
    assert line == r"\texttt{gemm} & 2 & 3 & \qty{50}{\percent} \\"


CASES = (("here", "gemm", "blas", "a"), ("there (published)", "gemm", "tiled", "b"))
SPREAD = Spread(campaigns=3, sd_within=0.01, sd_between=0.02, processes=10)
RATIO = quotients.Ratio(3.0, low=2.0, high=4.0, cases=CASES, spread=SPREAD)


@pytest.mark.parametrize(
    ("answer", "changes"),
    [
        (claims.Answer("as claimed", RATIO, lower=1.5, upper=5.0, detectable=0.25), {}),
        (
            claims.Answer("undecided", RATIO, lower=1.5, upper=math.inf, detectable=0.25),
            {"most": None, "detectable": 0.25, "verdict": "undecided"},
        ),
        (
            claims.Answer("the opposite", RATIO, lower=0.0, upper=5.0, detectable=0.25),
            {"least": None, "verdict": "the opposite"},
        ),
    ],
)
def test_a_claim_is_a_row_of_what_was_claimed_and_found(answer, changes):
    claim = AnsweredClaim("key", r"text of \num{3}", "a GPU", r"since \emph{so}", answer, place="2.1", converged=False)
    expected = {"chapter": "gemm", "group": "numbers", "claim": "key", "text": "text of 3", "least": 1.5, "most": 5.0}
    expected |= {"now": 3.0, "low": 2.0, "high": 4.0, "verdict": "as claimed", "detectable": None, "cause": "since so"}
    expected |= {"place": "2.1", "campaigns": 3, "processes": 10, "within": 0.01, "between": 0.02, "converged": False}
    expected |= {"machines": "here there", "cases": "gemm/blas/a gemm/tiled/b"}
    assert verdicts.row(SimpleNamespace(workload="gemm"), "numbers", claim) == expected | changes


def test_the_processes_behind_verdicts_are_those_of_their_cases():
    """Other cases and machines don't count."""
    samples = frame(
        rows(1.0, 1.0), rows(1.0, process=1), rows(1.0, 1.0, 1.0, case="other"), rows(*[1.0] * 4, machine="there")
    ).assign(campaign="c")
    samples = pd.concat([samples, frame(rows(*[1.0] * 3)).assign(campaign="d")])
    study = Study({"one": {"samples": samples}}, "here")
    cases = {("here", "gemm", "blas", "n=1,cache=cold,threads=1")}
    assert verdicts.processes_behind(study, cases) == r"\numrange{1}{2}"
