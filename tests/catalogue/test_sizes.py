"""A workload's sizes: their order, their defaults, their kinds, and those that contradict each other."""

import math

import pytest

from ladder.catalogue import workloads
from ladder.errors import LadderError

TRAINING = {"images": 7, "batch": 3, "epochs": 2, "rate": 0.5}


def test_complete_sizes_have_the_workloads_order_and_defaults():
    sizes = workloads.complete("gemm", {"k": 3, "n": 2, "m": 1})
    defaults = {"dtype": "float64", "source": "random", "seed": 1}
    assert list(sizes.items()) == list(({"form": "nn", "m": 1, "n": 2, "k": 3} | defaults).items())


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"rate": math.inf}, "rate=inf of mlp must be a number above 0"),
        ({"rate": math.nan}, "rate=nan of mlp must be a number above 0"),
        ({"rate": 0.0}, "rate=0.0 of mlp must be a number above 0"),
        ({"rate": -0.5}, "rate=-0.5 of mlp must be a number above 0"),
        ({"rate": True}, "rate=True of mlp must be a number above 0"),
        ({"rate": None}, "mlp needs a value for its size 'rate'"),
        ({"batch": 0}, "batch=0 of mlp must be a whole number of at least 1"),
        ({"batch": 1.0}, "batch=1.0 of mlp must be a whole number of at least 1"),
        ({"batch": True}, "batch=True of mlp must be a whole number of at least 1"),
        ({"seed": -1}, "seed=-1 of mlp must be a whole number of at least 0"),
        ({"dtype": "float16"}, "dtype='float16' of mlp must be one of float64, float32"),
        ({"rows": 3}, "mlp has no size named rows: its sizes are "),
    ],
)
def test_a_size_of_another_kind_is_refused(size, message):
    with pytest.raises(LadderError) as error:
        workloads.complete("mlp", TRAINING | size)
    assert str(error.value).startswith(message)


def test_missing_sizes_are_completed_with_a_number():
    assert workloads.complete_with("gemm", {"m": 9, "form": "tn"}, 2) == workloads.complete(
        "gemm", {"form": "tn", "m": 9, "n": 2, "k": 2}
    )


@pytest.mark.parametrize(
    ("workload", "valid", "invalid", "reason"),
    [
        ("gemm", {"m": 2, "n": 3, "k": 784, "source": "digits"}, {"k": 785}, "An image has 784 pixels, too few for"),
        ("mlp", TRAINING, {"layers": "783-10"}, "layers='783-10' of mlp must begin with the 784 pixels and end with"),
        # The digits have 1437 images for training, MNIST has 60000.
        (
            "pattern_input",
            {"images": 1437, "source": "digits"},
            {"images": 1438},
            "images=1438 of pattern_input is more",
        ),
        ("pattern_input", {"images": 60000}, {"images": 60001}, "images=60001 of pattern_input is more than mnist has"),
        ("descent", {"n": 5, "kappa": 1.0, "iterations": 3}, {"kappa": 0.9}, "kappa=0.9 of descent is not a condition"),
        # The trained weights are of a network with 512 channels.
        ("dcgan", {"images": 1, "channels": 512}, {"channels": 64, "weights": "trained"}, "channels=64 of dcgan with"),
    ],
)
def test_sizes_that_contradict_each_other_are_refused(workload, valid, invalid, reason):
    workloads.complete(workload, valid)
    with pytest.raises(LadderError) as error:
        workloads.complete(workload, valid | invalid)
    assert str(error.value).startswith(reason)
