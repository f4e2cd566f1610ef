"""What holds of every workload's inputs and costs: what a seed and a round change, and numbers counted by hand."""

import dataclasses

import numpy as np
import pytest

from ladder import devices
from ladder.catalogue import workloads
from ladder.data import dataset
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads.descent import system

HOST = devices.load("host")
LAYERS = "784-3-10"
SIZES = {
    "backprop": {"layers": LAYERS, "images": 40, "epochs": 3, "rate": 0.1, "source": "digits"},
    "dcgan": {"images": 70, "channels": 8},
    "descent": {"n": 33, "kappa": 10.0, "iterations": 3, "start": "random"},
    "descent_kernel": {"kernel": "gemv", "n": 33},
    "fma": {"elements": 99, "length": 7},
    "gemm": {"form": "nt", "m": 33, "n": 17, "k": 9},
    "gemv": {"n": 33, "m": 17},
    "mlp": {"layers": LAYERS, "images": 40, "batch": 20, "epochs": 3, "rate": 0.5, "source": "digits"},
    "pattern_input": {"images": 40, "source": "digits"},
    "stream": {"kernel": "triad", "elements": 99},
    "tconv": {"images": 2, "h": 3, "c": 5, "k": 3},
}
# Inputs that a seed doesn't change, and those that a round doesn't.
KEPT_BETWEEN_SEEDS = {
    "mlp": {"pixels", "labels", "b1", "b2"},
    "backprop": {"dw1", "dw2"},
    "pattern_input": {"path", "first"},
}
KEPT_BETWEEN_ROUNDS = {
    "mlp": {"pixels", "labels", "w1", "b1", "w2", "b2"},
    "backprop": {"images", "targets", "w1", "dw1", "w2", "dw2"},
    "dcgan": {"network"},
    "pattern_input": {"path"},
}


def sizes_of(workload, **changes):
    return workloads.complete(workload, SIZES[workload] | changes)


def inputs_of(workload, folder, rounds=1, **changes):
    """The inputs of rounds of a problem, after each: [{name: array}, ...], NaN or 77 where nothing was written."""
    module, sizes = workloads.load(workload), sizes_of(workload, **changes)
    data = module.load_data(folder) if module.data_set(sizes) else None
    problem = make_problem(module, Case(workload, "any", sizes, {}), HOST)
    for array in problem.inputs.values():
        array[...] = np.nan if array.dtype.kind == "f" else 77
    inputs_of_rounds, generated = [], module.GENERATED
    for round in range(rounds):
        filled = {name: array for name, array in problem.inputs.items() if name not in generated}
        names = module.fill(filled, sizes, round, data)
        if generated:
            module.generate(problem, round)
        inputs_of_rounds.append({name: array.copy() for name, array in problem.inputs.items()})
        changed = {
            name
            for name in filled
            if round and not np.array_equal(inputs_of_rounds[-1][name], inputs_of_rounds[-2][name])
        }
        assert changed <= set(names), "what `fill` doesn't name isn't uploaded"
    return inputs_of_rounds


@pytest.mark.parametrize("workload", workloads.names())
def test_inputs_follow_the_seed_and_every_element_is_written(digits_folder, workload):
    (first,), (repeated,) = (inputs_of(workload, digits_folder) for _ in range(2))
    for name, array in first.items():
        assert np.isfinite(array).all(), name
        np.testing.assert_array_equal(array, repeated[name])
    if "seed" in workloads.load(workload).SIZES:
        (other,) = inputs_of(workload, digits_folder, seed=2)
        same_inputs = {name for name, array in first.items() if np.array_equal(array, other[name])}
        assert same_inputs == KEPT_BETWEEN_SEEDS.get(workload, set())


@pytest.mark.parametrize("workload", workloads.names())
def test_rounds_have_other_inputs(digits_folder, workload):
    """Every epoch of a training is a round; what a later epoch continues from stays as it is."""
    first, *others = inputs_of(workload, digits_folder, rounds=workloads.load(workload).rounds(sizes_of(workload)))
    assert others
    for before, after in zip([first, *others], others, strict=False):
        same_inputs = {name for name in first if np.array_equal(before[name], after[name])}
        assert same_inputs == KEPT_BETWEEN_ROUNDS.get(workload, set())


@pytest.mark.parametrize("seed", [1, 2])
def test_a_training_visits_its_images_in_an_order_of_the_seed(digits_folder, seed):
    orders = [inputs["order"] for inputs in inputs_of("mlp", digits_folder, rounds=3, seed=seed)]
    ranpats = [inputs["ranpat"] for inputs in inputs_of("backprop", digits_folder, rounds=3, seed=seed)]
    for permutations, ascending in ((orders, np.arange(40)), (ranpats, np.sort(ranpats[0]))):
        assert all(np.array_equal(np.sort(permutation), ascending) for permutation in permutations)
        assert not any(np.array_equal(permutation, ascending) for permutation in permutations)


@pytest.mark.parametrize("workload", ["mlp", "backprop"])
def test_accuracy_is_that_of_the_test_images(digits_folder, workload):
    """Of the digits' 360 test images, it counts the first ones, as many as the training images."""
    module, sizes, data = workloads.load(workload), sizes_of(workload), dataset.load(digits_folder)
    exact = module.reference.compute(sizes, data)
    last = {name: array[-1] for name, array in exact.items() if name[0] in "wbd" and "drift" not in name}
    outputs = {name: np.atleast_1d(exact[name][-1]) for name in ("loss", "error") if name in exact}

    def accuracy(labels):
        relabeled = dataclasses.replace(data, test_labels=labels)
        _, point = module.check(sizes, last, outputs, sizes["epochs"] - 1, relabeled, exact, sizes["dtype"])
        return point["accuracy"]

    pixels, activate = data.test_images.reshape(-1, 784) / 255, lambda z: 1 / (1 + np.exp(-z))
    if workload == "mlp":
        logits = activate(pixels @ last["w1"] + last["b1"]) @ last["w2"] + last["b2"]
    else:
        logits = activate(pixels @ last["w1"][1:] + last["w1"][0]) @ last["w2"][1:] + last["w2"][0]
    predictions = logits.argmax(axis=1)
    assert accuracy(predictions) == 1.0
    assert accuracy((predictions + 1) % 10) == 0.0
    assert accuracy(np.where(np.arange(360) % 4 == 0, predictions, (predictions + 1) % 10)) == 0.25
    assert accuracy(np.where(np.arange(360) < sizes["images"], predictions, (predictions + 1) % 10)) == 1.0


# (workload, sizes, FLOPs, elements of the dtype that are moved, other bytes that are moved), counted by hand.
COSTS = [
    ("gemm", {"form": "nt", "m": 2, "n": 3, "k": 5}, 66, 10 + 15 + 6 + 6, 0),
    ("gemm", {"form": "tn", "m": 2, "n": 3, "k": 5}, 60, 10 + 15 + 6, 0),
    ("gemv", {"n": 3, "m": 5}, 30, 15 + 3 + 5, 0),
    ("stream", {"kernel": "read", "elements": 100}, 100, 100, 0),
    ("stream", {"kernel": "copy", "elements": 100}, 0, 200, 0),
    ("stream", {"kernel": "triad", "elements": 100}, 200, 300, 0),
    ("fma", {"elements": 10, "length": 7}, 140, 20, 0),
    ("tconv", {"images": 2, "h": 3, "c": 2, "k": 1}, 2 * 2 * 144 * 2, 36 + 50 + 1 + 72, 0),
    # Two products of the first layer, three of the second; weights and biases are read and written, pixels are bytes.
    ("mlp", {"images": 4}, 2 * 4 * (2 * 784 * 3 + 3 * 3 * 10), 2 * (785 * 3 + 4 * 10), 4 * (784 + 8 + 8)),
    # The bias is a row; weights and steps are read and written.
    (
        "backprop",
        {"images": 4},
        2 * 4 * (2 * (785 * 3 + 4 * 10) + 3 * 10),
        4 * (785 * 3 + 4 * 10) + 4 * (784 + 10),
        4 * 8,
    ),
    ("pattern_input", {"images": 3}, 3 * 784, 3 * 784, 3 * 784),
    ("descent", {"n": 4, "algorithm": "direct"}, 64 / 3, 10, 0),
    ("descent", {"n": 4}, 2 * 16 * 3, 10, 0),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("workload", "sizes", "flops", "elements", "further_bytes"), COSTS)
def test_the_cost_is_counted_by_hand(workload, sizes, flops, elements, further_bytes, dtype):
    module, full_sizes = workloads.load(workload), sizes_of(workload, dtype=dtype, **sizes)
    facts = [{"steps": 3}] if module.FACTS else []
    cost = module.cost(full_sizes, *facts)
    assert (cost.flops, cost.bytes) == (pytest.approx(flops), elements * np.dtype(dtype).itemsize + further_bytes)


@pytest.mark.parametrize(("pictures", "bytes"), [("float32", 4), ("uint8", 1)])
def test_the_cost_of_pictures_is_counted_by_hand(pictures, bytes):
    cost = workloads.load("dcgan").cost(sizes_of("dcgan", images=2, channels=8, pictures=pictures))
    # Of each layer: the pixels under the filter, summed over the outputs along one side, and the channels in and out.
    layers = [(17, 8, 4), (37, 4, 2), (77, 2, 1), (157, 1, 3)]
    assert cost.flops == 2 * 2 * (100 * 16 * 8 + sum(hits**2 * c * k for hits, c, k in layers))
    network = 100 * 128 + 128 + 4 * 8 + (800 + 5 * 4) + (200 + 5 * 2) + (50 + 5) + (75 + 3)
    assert cost.bytes == 2 * 100 * 4 + network * 4 + 2 * 64 * 64 * 3 * bytes


def test_a_matrix_beyond_any_chip_is_read_in_every_iteration(monkeypatch):
    module, sizes = workloads.load("descent"), sizes_of("descent", n=4)
    monkeypatch.setattr(module, "MAX_ON_CHIP", 39)  # half of the matrix, with the diagonal, takes 10 x 4 bytes
    assert module.cost(sizes, {"steps": 3}).bytes == 120
    assert module.cost(sizes, {"steps": 0}).bytes == 40


def test_the_right_hand_side_and_the_matrix_are_of_the_same_round():
    sizes = sizes_of("descent")
    for round in (0, 1):
        problem = make_problem(workloads.load("descent"), Case("descent", "any", sizes, {}), HOST)
        workloads.load("descent").fill({"b": problem.b}, sizes, round, None)
        workloads.load("descent").generate(problem, round)
        expected = system.from_sizes(sizes, round).product(problem.b)
        np.testing.assert_allclose(problem.matrix @ problem.b, expected, rtol=1e-3)
