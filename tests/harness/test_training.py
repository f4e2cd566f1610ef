"""Trainings that are saved and restarted: the same bits as uninterrupted ones, and other files refused."""

import errno
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import training
from ladder.records.case import Case

pytestmark = pytest.mark.xdist_group("backprop")  # in one process, so that its functions are compiled only once
NEEDS_GCC = pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc")
SIZES = {"layers": "784-13-7-10", "images": 130, "rate": 0.005, "dtype": "float32", "source": "digits"}


@pytest.fixture(scope="module")
def data(digits_folder):
    """The folder of `digits`."""
    return digits_folder.parent


def case(variant="blas", epochs=4, **changes):
    tuning = {"threads": 2} | ({"block": 16} if variant == "tuned" else {})
    return Case("backprop", variant, workloads.complete("backprop", SIZES | {"epochs": epochs} | changes), tuning)


def train_case(case, data, state=None, eps=0.0):
    """Train until the error is at most `eps`, perhaps from a state; returns (errors by epoch, final state)."""
    epochs = training.train(case, {"digits": data / "digits"}, state, eps)
    pairs = [(error, current.state()) for current, error, _ in epochs]
    return [error for error, _ in pairs], pairs[-1][1]


@pytest.mark.parametrize("variant", ["blas", pytest.param("tuned", marks=NEEDS_GCC), "numpy_loop"])
def test_a_restarted_training_has_the_bits_of_an_uninterrupted_one(data, tmp_path, variant):
    errors, uninterrupted = train_case(case(variant), data)
    first, state = train_case(case(variant, epochs=2), data)
    training.save(tmp_path / "state.npz", case(variant, epochs=2), state)
    later_errors, end = train_case(case(variant), data, training.load(tmp_path / "state.npz", case(variant)))
    assert first + later_errors == errors
    assert (end.epochs, set(end.arrays)) == (4, {f"{name}{layer}" for name in ("w", "dw") for layer in (1, 2, 3)})
    assert all(np.array_equal(end.arrays[name], uninterrupted.arrays[name]) for name in uninterrupted.arrays)
    assert sorted(errors, reverse=True) == errors


def test_a_restart_without_the_last_weight_changes_differs(data):
    """The momentum adds a share of them to the next changes."""
    _, uninterrupted = train_case(case(), data)
    _, state = train_case(case(epochs=2), data)
    without_steps = {
        name: np.zeros_like(array) if name.startswith("dw") else array for name, array in state.arrays.items()
    }
    _, end = train_case(case(), data, training.State(2, without_steps))
    assert not np.array_equal(end.arrays["w1"], uninterrupted.arrays["w1"])


def test_a_training_stops_at_the_requested_error(data):
    errors, _ = train_case(case(), data)
    assert train_case(case(), data, eps=errors[1])[0] == errors[:2]


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_diverging_training_is_an_error(data):
    with pytest.raises(LadderError, match=r"The error of epoch \d is (nan|inf): try a lower rate"):
        train_case(case(rate=1e38), data)


@pytest.fixture
def state(data, tmp_path):
    """The path of a saved state, and its contents."""
    training.save(tmp_path / "state.npz", case(epochs=2), train_case(case(epochs=2), data)[1])
    with np.load(tmp_path / "state.npz") as file:
        return tmp_path / "state.npz", dict(file)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rate": 0.004}, "is of another training: its rate is 0.005, not 0.004"),
        ({"dtype": "float64"}, "is of another training: its dtype is 'float32', not 'float64'"),
        ({"epochs": 2}, "has 2 epochs, and the case ends at 2: raise `epochs`"),
    ],
)
def test_a_state_of_another_training_is_refused(state, changes, sentence):
    with pytest.raises(LadderError) as error:
        training.load(state[0], case(**changes))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("truncated", "or is broken"),
        ("text", "or is broken"),
        ("empty", "or is broken"),
        ("missing", "can't be read: No such file"),
        ("no epochs", "or is broken"),
        ("epochs of -1", "has -1 epochs"),
        ("no dw2", "has no dw2 of shape (14, 7)"),
        ("one too many", "a state of backprop has no w9"),
        ("another shape", "has no w1 of shape (785, 13)"),
        ("not a number", "has no w3 of shape (8, 10) and finite float32 numbers"),
    ],
)
def test_a_broken_state_is_refused(state, fault, sentence):
    path, arrays = state
    header = json.loads(str(arrays["training"]))
    if fault in ("truncated", "text", "empty"):
        contents = path.read_bytes()
        path.write_bytes({"truncated": contents[: len(contents) // 2], "text": b"weights", "empty": b""}[fault])
    elif fault == "missing":
        path.unlink()
    else:
        header |= {"epochs of -1": {"epochs": -1}}.get(fault, {})
        header = {name: value for name, value in header.items() if (fault, name) != ("no epochs", "epochs")}
        arrays |= {"training": json.dumps(header)}
        if fault == "no dw2":
            del arrays["dw2"]
        arrays |= {"one too many": {"w9": arrays["w1"]}}.get(fault, {})
        arrays |= {"another shape": {"w1": arrays["w1"][1:]}}.get(fault, {})
        arrays |= {"not a number": {"w3": arrays["w3"] * np.nan}}.get(fault, {})
        np.savez(path, **arrays)
    with pytest.raises(LadderError) as error:
        training.load(path, case())
    assert sentence in str(error.value)


def test_a_state_that_cannot_be_written_leaves_the_old_one(data, tmp_path, monkeypatch):
    _, state = train_case(case(epochs=1), data)
    training.save(tmp_path / "state.npz", case(), state)
    before = (tmp_path / "state.npz").read_bytes()
    full_disk = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("os.fsync", lambda number: (_ for _ in ()).throw(full_disk))
    with pytest.raises(LadderError, match="can't be written: No space left on device"):
        training.save(tmp_path / "state.npz", case(), state)
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]
    assert (tmp_path / "state.npz").read_bytes() == before


def run_train(*words):
    """Run the verb `train`; returns the completed process."""
    return subprocess.run([sys.executable, "-m", "ladder", "train", *map(str, words)], capture_output=True, text=True)


@pytest.mark.slow
def test_the_verb_trains_saves_and_restarts(data, tmp_path):
    sizes, file = ",".join(f"{name}={value}" for name, value in SIZES.items()), tmp_path / "state.npz"
    common_options = "--tuning", "threads=1,block=512", "--data", data
    first = run_train("backprop", "blas", f"{sizes},epochs=1", "--save", file, *common_options)
    restarted = run_train("backprop", "blas", f"{sizes},epochs=3", "--restart", file, "--save", file, *common_options)
    assert (first.returncode, restarted.returncode) == (0, 0), first.stderr + restarted.stderr
    assert [line.partition(":")[0] for line in (first.stdout + restarted.stdout).splitlines()] == [
        f"epoch {epoch}" for epoch in (1, 2, 3)
    ]
    assert training.load(file, case(epochs=4)).epochs == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("gemm", "blas", "m=1,n=1,k=1", "--tuning", "threads=1"), "gemm can't be trained"),
        (("backprop", "blas", "images=17,epochs=1,rate=0.01"), "needs a value for its tuning 'threads'"),
        (("backprop", "blas", "images=17,epochs=1,rate=0.01", "--eps", "-1"), "'-1' is not a number of at least 0"),
    ],
)
def test_a_case_that_cannot_be_trained_is_an_error(words, sentence):
    result = run_train(*words)
    assert result.returncode
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
