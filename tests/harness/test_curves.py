"""Curves: the points of a workload's checks that a record keeps."""

from types import SimpleNamespace

import numpy as np
import pytest

from conftest import JOB_PROTOCOL
from ladder import devices
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import curves, worker
from ladder.records.case import Case

HOST = devices.load("host")
CASE = Case("gemm", "blas", {"n": 1}, {"threads": 1})


def curve_of(count):
    """A curve with this number of points."""
    return [{"step": step, "loss": 1.0 / step} for step in range(1, count + 1)]


@pytest.mark.parametrize("count", [0, 1, 199, 200])
def test_a_short_curve_is_kept_whole(count):
    assert curves.thin(curve_of(count)) == curve_of(count)


@pytest.mark.parametrize("count", [201, 1000, 10**5])
def test_a_long_curve_keeps_its_ends_and_is_dense_at_its_start(count):
    steps = [point["step"] for point in curves.thin(curve_of(count))]
    assert 100 <= len(steps) <= 200
    assert (steps[:5], steps[-1]) == ([1, 2, 3, 4, 5], count)
    gaps = np.diff(steps)
    assert gaps.min() >= 1
    assert gaps[-1] == gaps.max() <= 0.15 * count  # gaps grow towards the end, but even the last is no large part


def test_numbers_become_builtin_ones_in_the_declared_order():
    (point,) = curves.validate([{"loss": np.float32(0.5), "step": np.int64(3)}], CASE, ("step", "loss"))
    assert list(point.items()) == [("step", 3), ("loss", 0.5)]
    assert [type(value) for value in point.values()] == [int, float]


@pytest.mark.parametrize(
    ("point", "names", "sentence"),
    [
        ({"step": 1, "loss": 1.0}, ("step",), "holds step, loss, but its CURVE declares step"),
        ({"step": 1}, ("step", "loss"), "holds step, but its CURVE declares step, loss"),
        ({"step": 1}, (), "but its CURVE declares nothing"),
        ({"step": float("nan")}, ("step",), "step is nan, but must be a finite number"),
        ({"step": True}, ("step",), "step is True, but must be a finite number"),
        ({"step": "one"}, ("step",), "step is 'one', but must be a finite number"),
        ({"n": 1}, ("n",), "has n, which is a size or tuning of gemm/blas/n=1,cache=cold,threads=1: rename it"),
    ],
)
def test_a_point_that_is_not_as_declared_is_refused(point, names, sentence):
    with pytest.raises(LadderError) as error:
        curves.validate([point], CASE, names)
    assert sentence in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "allowed_counts"),  # of two rounds; 1000 points are thinned to at most 200
    [(None, [0]), ({"step": 1, "loss": 1.0}, [2]), (curve_of(7), [14]), (curve_of(500), range(101, 201))],
    ids=["none", "a point", "points", "many"],
)
def test_every_round_adds_its_points(monkeypatch, points, allowed_counts):
    gemm = workloads.load("gemm")
    check = gemm.check
    monkeypatch.setattr(gemm, "CURVE", ("step", "loss"), raising=False)
    monkeypatch.setattr(gemm, "check", lambda *arguments: (check(*arguments)[0], points))
    case = Case("gemm", "blas", workloads.complete("gemm", {"m": 3, "n": 2, "k": 5}), {"threads": 1}, "warm")
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)  # this process may have any number of threads
    job = SimpleNamespace(data={}, reference=None, **JOB_PROTOCOL)
    result = worker.run_case(case, gemm, workloads.load_variant("gemm", "blas"), job)
    assert gemm.rounds(case.sizes) == 2
    assert len(result["curve"]) in allowed_counts
