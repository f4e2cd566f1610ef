"""Traces: the rows of a variant's traced run that a record keeps."""

from types import SimpleNamespace

import numpy as np
import pytest

from ladder import devices
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import traces, worker
from ladder.harness.steps import Steps
from ladder.records.case import Case

HOST = devices.load("host")
CASE = Case("gemm", "blas", {"n": 1}, {"threads": 1})
ROW = ("compute", "1", 0.0, 0.5)


def test_rows_become_pythons_own_texts_and_numbers_in_their_order():
    given = [("copy", np.str_("2"), np.float32(0.5), np.int64(1)), [*ROW]]
    assert traces.validate(given, CASE) == [["copy", "2", 0.5, 1.0], [*ROW]]
    assert {type(value) for row in traces.validate(given, CASE) for value in row} == {str, float}


@pytest.mark.parametrize("count", [0, 1, 400])
def test_so_many_rows_are_kept(count):
    assert len(traces.validate((ROW for _ in range(count)), CASE)) == count


def test_more_rows_than_a_record_holds_are_refused():
    with pytest.raises(LadderError, match="has 401 rows, but a record holds at most 400"):
        traces.validate([ROW] * 401, CASE)


@pytest.mark.parametrize(
    "row",
    [
        ("compute", "1", 0.0),
        ("compute", "1", 0.0, 0.5, 0.5),
        "rows",
        ("compute", 1, 0.0, 0.5),
        (None, "1", 0.0, 0.5),
        ("", "1", 0.0, 0.5),
        ("compute", "1", "0", 0.5),
        ("compute", "1", False, 0.5),
        ("compute", "1", -1e-9, 0.5),
        ("compute", "1", 0.6, 0.5),
        ("compute", "1", 0.0, float("inf")),
        ("compute", "1", float("nan"), 0.5),
        ("compute", "1", 0.0, float("nan")),
    ],
    ids=str,
)
def test_a_row_that_is_none_is_refused(row):
    with pytest.raises(LadderError, match="must be a lane and a name, both text"):
        traces.validate([ROW, row], CASE)


def test_a_size_of_the_same_name_as_a_column_is_refused():
    with pytest.raises(LadderError, match="but start is a size or tuning of"):
        traces.validate([ROW], Case("gemm", "blas", {"start": 1}, {"threads": 1}))


@pytest.fixture
def traced(monkeypatch):
    """A function: the result of a worker whose variant has a function as its trace, and what was called in order."""
    gemm, called = workloads.load("gemm"), []
    case = Case("gemm", "blas", workloads.complete("gemm", {"m": 3, "n": 2, "k": 5}), {"threads": 1}, "cold")
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)  # the tests' own process has any
    monkeypatch.setattr(HOST, "flusher", lambda: lambda: called.append("flush"))
    limits = {"seconds": 0.1, "samples": 1, "least": 1, "most": 1, "target": 1.0, "phase_passes": 1, "energy": False}

    def work(trace):
        def setup(problem, threads):
            def run():
                called.append("run")
                np.matmul(problem.a, problem.b, out=problem.out)

            return Steps([("product", run)], trace=trace and (lambda: called.append("trace") or trace()))

        variant = SimpleNamespace(DEVICE="host", setup=setup)
        return worker.run_case(case, gemm, variant, SimpleNamespace(data={}, reference=None, **limits)), called

    return work


def test_the_traced_run_is_one_more_behind_all_others_and_finds_empty_caches(traced):
    _, called = traced(None)
    without = [*called]
    called.clear()
    found, called = traced(lambda: [ROW])
    assert found["trace"] == [[*ROW]]
    assert called == [*without, "flush", "trace"]


def test_without_a_function_there_is_no_trace(traced):
    assert "trace" not in traced(None)[0]


def test_wrong_rows_fail_the_case(traced):
    with pytest.raises(LadderError, match="must be a lane and a name"):
        traced(lambda: [("compute", "1", 1.0, 0.0)])
