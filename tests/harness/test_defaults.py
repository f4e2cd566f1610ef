"""The default `check` of a workload, which compares outputs with the workload's `expected`."""

from types import SimpleNamespace

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.harness import defaults

SIZES = {"n": 4}
INPUTS = {"x": np.arange(4.0)}


def check_outputs(expected, **outputs):
    """Check outputs by the default `check`; returns {name: (error over its bound, passed)}."""
    workload = SimpleNamespace(__name__="ladder.workloads.doubled", expected=expected)
    checks, points = defaults.check(workload, SIZES, INPUTS, outputs, 0, None, None, "float64")
    assert points is None
    return {check.name: (check.error, check.passed) for check in checks}


def expected(sizes, inputs, precision):
    """The outputs {name: (values, bounds)} of a workload that doubles x and adds up its elements."""
    assert (sizes, precision) == (SIZES, "float64")
    return {"y": (2 * inputs["x"], 0.5), "total": (np.array([6.0]), np.array([0.0]))}


def test_every_output_is_compared_within_its_bound():
    outputs = {"y": np.array([0, 2, 4, 6.0]), "total": np.array([6.0])}
    assert check_outputs(expected, **outputs) == {"y": (0, True), "total": (0, True)}
    assert check_outputs(expected, **outputs | {"y": np.array([0.25, 2, 4, 6.0])})["y"] == (0.5, True)
    assert check_outputs(expected, **outputs | {"y": np.array([0, 2, 4, 7.0])})["y"] == (2, False)
    assert check_outputs(expected, **outputs | {"total": np.array([6.5])})["total"] == (np.inf, False)


def test_an_output_without_an_expected_value_is_an_error():
    with pytest.raises(LadderError, match=r"`expected` of ladder.workloads.doubled lacks the output 'z'"):
        check_outputs(expected, y=np.zeros(4), total=np.zeros(1), z=np.zeros(1))
