"""Traces: the rows of a variant's traced run that a record keeps."""

from types import SimpleNamespace

import numpy as np
import pytest

from conftest import JOB_PROTOCOL
from ladder import devices
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import traces, worker
from ladder.harness.steps import Steps
from ladder.records.case import Case

HOST_DEVICE = devices.load("host")
CASE = Case("gemm", "blas", {"n": 1}, {"threads": 1})
ROW = ("compute", "1", 0.0, 0.5)  # lane, name, start and end in seconds


def test_rows_become_builtin_texts_and_numbers_in_their_order():
    rows = [("copy", np.str_("2"), np.float32(0.5), np.int64(1)), [*ROW]]
    assert traces.validate(rows, CASE) == [["copy", "2", 0.5, 1.0], [*ROW]]
    assert {type(value) for row in traces.validate(rows, CASE) for value in row} == {str, float}


@pytest.mark.parametrize("count", [0, 1, 400])
def test_up_to_400_rows_are_kept(count):
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
def test_a_malformed_row_is_refused(row):
    with pytest.raises(LadderError, match="must be a lane and a name, both text"):
        traces.validate([ROW, row], CASE)


def test_a_size_of_the_same_name_as_a_column_is_refused():
    with pytest.raises(LadderError, match="but start is a size or tuning of"):
        traces.validate([ROW], Case("gemm", "blas", {"start": 1}, {"threads": 1}))


@pytest.fixture
def run_traced(monkeypatch):
    """A function that runs a case whose `Steps.trace` is its argument; returns the result and the calls in order."""
    gemm, calls = workloads.load("gemm"), []
    case = Case("gemm", "blas", workloads.complete("gemm", {"m": 3, "n": 2, "k": 5}), {"threads": 1}, "cold")
    # This process may have any number of threads.
    monkeypatch.setattr(HOST_DEVICE, "require_threads", lambda *arguments: None)
    monkeypatch.setattr(HOST_DEVICE, "flusher", lambda: lambda: calls.append("flush"))

    def run_case(trace):
        def setup(problem, threads):
            def run():
                calls.append("run")
                np.matmul(problem.a, problem.b, out=problem.out)

            return Steps([("product", run)], trace=trace and (lambda: calls.append("trace") or trace()))

        variant = SimpleNamespace(DEVICE="host", setup=setup)
        return worker.run_case(case, gemm, variant, SimpleNamespace(data={}, reference=None, **JOB_PROTOCOL)), calls

    return run_case


def test_the_traced_run_is_an_additional_run_with_flushed_caches_before_the_checks(run_traced):
    _, calls = run_traced(None)
    untraced = [*calls]
    calls.clear()
    result, calls = run_traced(lambda: [ROW])
    assert result["trace"] == [[*ROW]]
    runs_of_checks = ["run", "run"]
    assert calls == [*untraced[:-2], "flush", "trace", *runs_of_checks]


def test_without_the_function_there_is_no_trace(run_traced):
    assert "trace" not in run_traced(None)[0]


def test_wrong_rows_fail_the_case(run_traced):
    with pytest.raises(LadderError, match="must be a lane and a name"):
        run_traced(lambda: [("compute", "1", 1.0, 0.0)])
