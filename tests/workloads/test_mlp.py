"""Training: gradients against finite differences, steps and trajectories of every variant, detection of faults."""

import importlib.util
import itertools
import os
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

from ladder import cuda, devices
from ladder.catalogue import setup_arguments, workloads
from ladder.data import dataset
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import mlp
from ladder.workloads.mlp import cuda_copies, elementwise, products, reference

HOST = devices.load("host")
pytestmark = pytest.mark.xdist_group("mlp")  # its functions are compiled once
# `tiled` takes long to compile.
TILED = pytest.param("tiled", marks=pytest.mark.slow)
PRODUCTS = ("openmp", "interchanged", TILED, "blas")
DTYPES = ("float64", "float32")
NEEDS_TORCH = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="requires PyTorch: pip install torch")
PEERS = ["numpy_loop", pytest.param("pytorch", marks=NEEDS_TORCH)]
SMALL_SIZES = {"layers": "784-13-10", "images": 130, "batch": 40, "epochs": 3, "rate": 0.5, "source": "digits"}


@pytest.fixture(scope="module")
def digits(digits_folder):
    return dataset.load(digits_folder)


@pytest.fixture(scope="module")
def compute_reference(digits):
    """A function from sizes to their reference, which is computed once."""
    references = {}

    def compute_reference(sizes):
        key = Case("mlp", "reference", mlp.reference_sizes(sizes), {}).slug
        if key not in references:
            references[key] = reference.compute(sizes, digits)
        return references[key]

    return compute_reference


def sizes_of(**changes):
    return workloads.complete("mlp", SMALL_SIZES | changes)


class Training:
    """A variant on a new problem, run epoch by epoch."""

    def __init__(self, digits, sizes, variant="host", **tuning):
        self.sizes, self.digits = sizes, digits
        self.problem = make_problem(mlp, Case("mlp", variant, sizes, {"threads": 1}), HOST)
        mlp.fill(self.problem.inputs, sizes, 0, digits)
        tuning |= {"threads": 1} if "threads" in setup_arguments.tunings("mlp", variant) else {}
        steps = workloads.load_variant("mlp", variant).setup(self.problem, **tuning)
        self.run = chain_steps(Steps.of(steps).run)

    def run_epoch(self, round, run=None):
        mlp.fill(self.problem.inputs, self.sizes, round, self.digits)
        validation.poison(self.problem.outputs)
        (run or self.run)()

    def failed_checks(self, round, expected):
        """The names of the checks that fail after an epoch."""
        checks, point = mlp.check(
            self.sizes,
            self.problem.inputs,
            self.problem.outputs,
            round,
            self.digits,
            expected,
            self.sizes["dtype"],
        )
        assert point["epoch"] == round + 1
        assert 0 <= point["accuracy"] <= 1
        return {check.name for check in checks if not check.passed}

    def parameters(self):
        """Weights and biases by layer, as they are now."""
        count = len(reference.layer_sizes(self.sizes))
        return [(self.problem.inputs[f"w{layer}"], self.problem.inputs[f"b{layer}"]) for layer in range(1, count)]


def assert_right(training, expected):
    for round in range(mlp.rounds(training.sizes)):
        training.run_epoch(round)
        assert training.failed_checks(round, expected) == set(), round


# The reference


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("widths", [(7, 3), (7, 5, 3), (5, 1, 7, 3), (1, 1)])
def test_gradients_are_finite_differences(widths, activation):
    rng = np.random.default_rng(1)
    parameters = [(rng.normal(size=shape), rng.normal(size=shape[1])) for shape in itertools.pairwise(widths)]
    x, labels = rng.random((6, widths[0])), rng.integers(0, widths[-1], 6)
    loss, gradients = reference.gradients(parameters, x, labels, activation)
    assert np.isfinite(loss)
    step = 1e-6
    for pair, gradient in zip(parameters, gradients, strict=True):
        for array, slope in zip(pair, gradient, strict=True):
            assert array.shape == slope.shape
            for index in np.ndindex(array.shape):
                value, losses = array[index], []
                for changed in (value + step, value - step):
                    array[index] = changed
                    losses.append(reference.gradients(parameters, x, labels, activation)[0])
                array[index] = value
                assert slope[index] == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-5, abs=1e-8)


def test_the_loss_of_equal_logits_is_the_logarithm_of_the_classes():
    loss, delta = reference.cross_entropy(np.full((4, 10), 3.0), np.arange(4))
    assert loss == pytest.approx(np.log(10))
    assert np.allclose(delta.sum(axis=1), 0)
    assert np.isfinite(reference.cross_entropy(np.array([[1e4, -1e4]]), np.array([1]))[0])


def test_orders_and_weights_follow_the_seed():
    sizes, other_sizes = sizes_of(), sizes_of(seed=2)
    assert sorted(reference.order(sizes, 0)) == list(range(130))
    assert not np.array_equal(reference.order(sizes, 0), reference.order(sizes, 1))
    assert not np.array_equal(reference.order(sizes, 0), reference.order(other_sizes, 0))
    layers = zip(reference.initial_parameters(sizes), reference.initial_parameters(other_sizes), strict=True)
    for (weights, bias), (other_weights, _) in layers:
        assert np.array_equal(weights, weights.astype(np.float32))
        assert not np.array_equal(weights, other_weights)
        assert not bias.any()


def test_the_reference_learns(compute_reference):
    losses = compute_reference(sizes_of())["loss"].mean(axis=1)
    assert losses[-1] < losses[0] < np.log(10) * 1.2


# Correct variants


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("product", PRODUCTS)
def test_one_step_is_the_reference_gradient(digits, product, activation):
    sizes = sizes_of(layers="784-13-5-10", images=40, batch=40, epochs=1, activation=activation)
    training = Training(digits, sizes, product=product)
    before = reference.initial_parameters(sizes)
    training.run_epoch(0)
    order = reference.order(sizes, 0)
    x, labels = reference.scale_pixels(digits.train_images[order]), digits.train_labels[order]
    loss, gradients = reference.gradients(before, x, labels, activation)
    assert training.problem.loss[0] == pytest.approx(loss, rel=1e-13)
    for after, initial, gradient in zip(training.parameters(), before, gradients, strict=True):
        for new, old, slope in zip(after, initial, gradient, strict=True):  # weights, bias
            assert np.allclose((old - new) / sizes["rate"], slope, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("product", "dtype"),
    [
        *((product, "float64") for product in ("openmp", "interchanged", "blas")),
        pytest.param("tiled", "float64", marks=pytest.mark.slow),
        *(pytest.param(product, "float32", marks=pytest.mark.slow) for product in ("openmp", "interchanged", "tiled")),
        ("blas", "float32"),
    ],
)
def test_trajectories_are_within_the_bound(digits, compute_reference, product, dtype):
    sizes = sizes_of(dtype=dtype)
    assert sizes["images"] % sizes["batch"]
    assert_right(Training(digits, sizes, product=product), compute_reference(sizes))


@pytest.mark.parametrize(
    "changes",
    [
        {"images": 17, "batch": 1},
        {"images": 17, "batch": 65},
        {"images": 1, "batch": 1},
        {"layers": "784-10", "activation": "relu"},
        {"layers": "784-1-7-10", "activation": "relu", "rate": 0.1},
    ],
)
@pytest.mark.parametrize("product", [TILED, "blas"])
def test_trainings_of_odd_sizes_are_right(digits, compute_reference, product, changes):
    sizes = sizes_of(**changes)
    assert_right(Training(digits, sizes, product=product), compute_reference(sizes))


@pytest.mark.slow
@pytest.mark.parametrize("product", [*PRODUCTS, "c_openmp"])
def test_the_deep_network_of_the_claims_is_trained_right(digits, compute_reference, product):
    sizes = sizes_of(layers="784-1000-1000-1000-10", activation="relu", images=20, batch=20, epochs=1, rate=0.1)
    assert_right(Training(digits, sizes, product=product), compute_reference(sizes))


class GpuArray(np.ndarray):
    """A stand-in for an array in a GPU's memory."""

    def set(self, values):
        np.copyto(self, values)

    def get(self, out):
        np.copyto(out, self)


def batch_on_the_host(problem, multiply):
    """The steps of an epoch of one batch, in place of kernels."""

    def run():
        layers = range(1, len(reference.layer_sizes(problem.sizes)))
        pairs = [(getattr(problem, f"w{layer}"), getattr(problem, f"b{layer}")) for layer in layers]
        x, labels = reference.scale_pixels(problem.pixels[problem.order]), problem.labels[problem.order]
        problem.loss[0], gradients = reference.gradients(pairs, x, labels, problem.sizes["activation"])
        for arrays, slopes in zip(pairs, gradients, strict=True):
            for array, slope in zip(arrays, slopes, strict=True):
                array -= problem.sizes["rate"] * slope

    yield "batch", run


@pytest.mark.parametrize("batch", [40, 130])
def test_copies_take_every_batch_to_the_gpu_and_all_parameters_back(digits, compute_reference, batch, monkeypatch):
    """In batches of 40, the last of four is smaller; 130 images are one batch."""
    monkeypatch.setattr(cuda, "empty", lambda shape, dtype: np.zeros(shape, dtype).view(GpuArray))
    monkeypatch.setattr(cuda, "capture", lambda run, stream: run)
    monkeypatch.setattr(cuda, "load_cupy", mock.MagicMock())
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    monkeypatch.setattr(cuda_copies, "epoch", batch_on_the_host)
    monkeypatch.setattr(products, "of", lambda product: None)
    sizes = sizes_of(batch=batch)
    training = Training(digits, sizes, "cuda_copies", product="cublas")
    assert_right(training, compute_reference(sizes))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("variant", PEERS)
def test_peers_follow_the_same_trajectory(digits, compute_reference, variant, activation, dtype):
    sizes = sizes_of(dtype=dtype, activation=activation)
    assert_right(Training(digits, sizes, variant), compute_reference(sizes))


@NEEDS_TORCH
@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"activation": "relu", "layers": "784-13-5-10"}, {"dtype": "float32"}, {"images": 41}]
)
def test_the_compiled_peer_is_right_and_compiles_in_its_set_up(digits, compute_reference, changes, torch_compiler):
    """The last batch is smaller."""
    sizes = sizes_of(**changes)
    training = Training(digits, sizes, "pytorch", compiled="on")
    with torch_compiler.set_stance("fail_on_recompile"):
        assert_right(training, compute_reference(sizes))


def test_a_run_repeats_from_the_same_state(digits):
    training = Training(digits, sizes_of(), product="blas")
    training.run_epoch(0)
    first = training.problem.loss.copy(), [weights.copy() for weights, _ in training.parameters()]
    training.run_epoch(0)
    assert np.array_equal(training.problem.loss, first[0])
    for (weights, _), expected in zip(training.parameters(), first[1], strict=True):
        assert np.array_equal(weights, expected)


def test_every_epoch_has_the_same_images_in_another_order(digits):
    sizes = sizes_of()
    problem = make_problem(mlp, Case("mlp", "host", sizes, {"threads": 1}), HOST)
    orders = []
    for round in range(mlp.rounds(sizes)):
        mlp.fill(problem.inputs, sizes, round, digits)
        assert np.array_equal(problem.pixels, digits.train_images[:130].reshape(130, 784))
        assert np.array_equal(problem.labels, digits.train_labels[:130])
        orders.append(tuple(problem.order))
    assert len(set(orders)) == mlp.rounds(sizes) == 3
    problem.w1[...] = 7
    mlp.fill(problem.inputs, sizes, 1, digits)
    assert (problem.w1 == 7).all(), "only the first epoch begins from the initial weights"


# Faults


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_skipped_last_batch_is_detected(digits, compute_reference, dtype):
    sizes = sizes_of(dtype=dtype)
    training = Training(digits, sizes, product="blas")
    steps = workloads.load_variant("mlp", "host").setup(training.problem, product="blas", threads=1)
    steps_of_batch = len(steps) // mlp.steps(sizes)
    training.run_epoch(0, chain_steps(steps[:-steps_of_batch]))
    assert "loss" in training.failed_checks(0, compute_reference(sizes)), "its loss is unwritten"
    training.problem.loss[-1] = compute_reference(sizes)["loss"][0, -1]
    assert {"w1", "b1", "w2", "b2"} == training.failed_checks(0, compute_reference(sizes))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_rate_is_detected(digits, compute_reference, dtype):
    training = Training(digits, sizes_of(rate=0.5 * 1.001, dtype=dtype), product="blas")
    training.run_epoch(0)
    assert {"w1", "w2", "loss"} <= training.failed_checks(0, compute_reference(sizes_of(dtype=dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_order_is_detected(digits, compute_reference, dtype):
    sizes = sizes_of(dtype=dtype)
    training = Training(digits, sizes, product="blas")

    def in_file_order():
        training.problem.order[...] = np.arange(sizes["images"])
        training.run()

    training.run_epoch(0, in_file_order)
    assert {"w1", "w2", "loss"} <= training.failed_checks(0, compute_reference(sizes))


def test_an_exchange_of_two_images_of_different_batches_is_detected(digits, compute_reference):
    sizes = sizes_of()
    training = Training(digits, sizes, product="blas")

    def exchange():
        training.problem.order[[0, 60]] = training.problem.order[[60, 0]]
        training.run()

    training.run_epoch(0, exchange)
    assert "loss" in training.failed_checks(0, compute_reference(sizes))


def test_training_in_float32_under_the_name_of_float64_is_detected(digits, compute_reference):
    float32_training, float64_training = (
        Training(digits, sizes_of(dtype="float32"), product="blas"),
        Training(digits, sizes_of(), product="blas"),
    )
    float32_training.run_epoch(0)
    float64_training.run_epoch(0)
    assert float64_training.failed_checks(0, compute_reference(sizes_of())) == set()
    for name, array in float32_training.problem.inputs.items():
        float64_training.problem.inputs[name][...] = array
    float64_training.problem.loss[...] = float32_training.problem.loss
    assert {"w1", "w2", "loss"} <= float64_training.failed_checks(0, compute_reference(sizes_of()))


def test_a_forgotten_epoch_is_detected(digits, compute_reference):
    training = Training(digits, sizes_of(), product="blas")
    training.run_epoch(0)
    training.run_epoch(2)
    assert {"w1", "w2", "loss"} <= training.failed_checks(1, compute_reference(sizes_of()))


# Elementwise operations at their edges


@pytest.mark.parametrize("dtype", DTYPES)
def test_pixels_are_scaled_to_the_rounded_quotient(dtype):
    pixels, x = np.arange(256, dtype=np.uint8).reshape(2, 128), np.full((1, 128), np.nan, dtype)
    for row in (0, 1):
        elementwise.gather(pixels, np.array([0, 1]), row, x)
        assert (x[0] == pixels[row].astype(dtype) / np.dtype(dtype).type(255)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sigmoid_is_within_a_few_units_in_the_last_place(dtype):
    z = np.linspace(-85, 40, 65 * 17).reshape(17, 65).astype(dtype)
    expected = 1 / (1 + np.exp(-z.astype(np.longdouble)))
    elementwise.sigmoid(z, np.zeros(65, dtype))
    assert (abs(z - expected) <= 4 * np.spacing(expected.astype(dtype))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sigmoid_of_large_numbers_is_a_number(dtype):
    z = np.array([[-np.inf, -1e4, -800.0, -100.0, 0.0, 100.0, 800.0, 1e4, np.inf]], dtype)
    elementwise.sigmoid(z, np.zeros(9, dtype))
    assert (z[0, :2] < np.finfo(dtype).tiny).all()
    assert z[0, [4, 7, 8]].tolist() == [0.5, 1.0, 1.0]
    assert (np.diff(z[0]) >= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sigmoid_keeps_what_is_not_a_number(dtype):
    z = np.array([[0.0, np.nan, 1.0]], dtype)
    elementwise.sigmoid(z, np.zeros(3, dtype))
    assert np.isnan(z).tolist() == [[False, True, False]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_loss_of_large_logits_is_a_number(dtype):
    z, loss = np.array([[1e4, -1e4, 0.0], [5.0, 5.0, 5.0]], dtype), np.full(1, np.nan)
    elementwise.softmax_loss(z, np.zeros(3, dtype), np.array([1, 2]), np.array([0, 1]), 0, loss, 0)
    assert loss[0] == pytest.approx((2e4 + np.log(3)) / 2)
    assert np.allclose(z, [[0.5, -0.5, 0.0], [1 / 6, 1 / 6, -1 / 3]])


@pytest.mark.parametrize("threads", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_the_blas_runs_on_the_threads_of_numba(threads):
    """In a separate process, since a BLAS keeps the callback; some shapes are too small for two threads."""
    script = (
        "import numpy as np\n"
        "from ladder.workloads import gemm\n"
        "from ladder.workloads.gemm import blas\n"
        "from ladder.workloads.mlp import blas_threads\n"
        f"print(blas_threads.share_threads({threads}))\n"
        "multiply, generator = blas.product('nn'), np.random.default_rng(1)\n"
        "for m, n, k in [(1, 1, 1), (17, 65, 1), (257, 301, 129), (65, 1025, 513)]:\n"
        "    a, b, out = generator.random((m, k)), generator.random((k, n)), np.full((m, n), np.nan)\n"
        "    multiply(a, b, out)\n"
        "    assert np.allclose(out, np.einsum('ik,kj', a, b)), (m, n, k)\n"
    )
    environment = os.environ | HOST.environment(threads)
    process = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == "True", "SciPy's wheels have an OpenBLAS that accepts a callback"


def test_the_cost_is_that_of_the_products():
    sizes = sizes_of(layers="784-13-10", images=130)
    assert mlp.cost(sizes).flops == 2 * 130 * (2 * 784 * 13 + 3 * 13 * 10)
    assert mlp.cost(sizes_of(dtype="float32")).bytes < mlp.cost(sizes).bytes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"layers": "784"}, "must be widths joined by '-'"),
        ({"layers": "784-x-10"}, "must be widths joined by '-'"),
        ({"layers": "784-0-10"}, "must be widths joined by '-'"),
        ({"layers": "783-10"}, "must begin with the 784 pixels"),
        ({"layers": "784-11"}, "end with the 10 digits"),
        ({"images": 1438}, "images=1438 of mlp is more than digits has"),
        ({"images": 60001, "source": "mnist"}, "is more than mnist has"),
        ({"batch": 0}, "batch=0 of mlp must be a whole number of at least 1"),
        ({"rate": 0}, "rate=0 of mlp must be a number above 0"),
        ({"rate": float("nan")}, "rate=nan of mlp must be a number above 0"),
        ({"rate": float("inf")}, "rate=inf of mlp must be a number above 0"),
        ({"activation": "tanh"}, "activation='tanh' of mlp must be one of sigmoid, relu"),
    ],
)
def test_invalid_trainings_are_refused(changes, sentence):
    with pytest.raises(LadderError) as error:
        sizes_of(**changes)
    assert sentence in str(error.value)


def test_a_variant_of_gemm_without_a_product_raises_a_sentence():
    with pytest.raises(LadderError, match="gemm/cublas_mixed has no `product` for others to use"):
        products.of("cublas_mixed")
