"""What a workload has that its module doesn't define: the comparison with what it expects."""

from types import SimpleNamespace

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.harness import defaults

SIZES = {"n": 4}
INPUTS = {"x": np.arange(4.0)}


def checked(expected, **outputs):
    """The checks of outputs, {name: (error, passed)}."""
    workload = SimpleNamespace(__name__="ladder.workloads.doubled", expected=expected)
    found, points = defaults.check(workload, SIZES, INPUTS, outputs, 0, None, None, "float64")
    assert points is None
    return {check.name: (check.error, check.passed) for check in found}


def doubled(sizes, inputs, precision):
    assert (sizes, precision) == (SIZES, "float64")
    return {"y": (2 * inputs["x"], 0.5), "total": (np.array([6.0]), np.array([0.0]))}


def test_every_output_is_compared_within_its_bound():
    right = {"y": np.array([0, 2, 4, 6.0]), "total": np.array([6.0])}
    assert checked(doubled, **right) == {"y": (0, True), "total": (0, True)}
    assert checked(doubled, **right | {"y": np.array([0.25, 2, 4, 6.0])})["y"] == (0.5, True)
    assert checked(doubled, **right | {"y": np.array([0, 2, 4, 7.0])})["y"] == (2, False)
    assert checked(doubled, **right | {"total": np.array([6.5])})["total"] == (np.inf, False)


def test_an_output_of_which_nothing_is_said_is_no_right_one():
    with pytest.raises(LadderError, match=r"`expected` of ladder.workloads.doubled lacks the output 'z'"):
        checked(doubled, y=np.zeros(4), total=np.zeros(1), z=np.zeros(1))
