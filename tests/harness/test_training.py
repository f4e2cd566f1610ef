"""Trainings that are saved and restarted: the same bits as uninterrupted ones, and other files refused."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from ladder.catalogue import workloads
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import training
from ladder.records.case import Case

pytestmark = pytest.mark.xdist_group("backprop")  # its functions are compiled once
NEEDS_GCC = pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc")
SIZES = {"layers": "784-13-7-10", "images": 130, "rate": 0.005, "dtype": "float32", "source": "digits"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_digits(folder / "digits")
    return folder


def case(variant="blas", epochs=4, **changes):
    tuning = {"threads": 2} | ({"block": 16} if variant == "tuned" else {})
    return Case("backprop", variant, workloads.complete("backprop", SIZES | {"epochs": epochs} | changes), tuning)


def trained(one, data, kept=None, eps=0.0):
    """(Errors, the state at the end) of a training."""
    found = [(error, now.state()) for now, error, _ in training.train(one, {"digits": data / "digits"}, kept, eps)]
    return [error for error, _ in found], found[-1][1]


@pytest.mark.parametrize("variant", ["blas", pytest.param("tuned", marks=NEEDS_GCC), "numpy_loop"])
def test_a_training_that_goes_on_has_the_bits_of_one_without_a_break(data, tmp_path, variant):
    errors, whole = trained(case(variant), data)
    first, state = trained(case(variant, epochs=2), data)
    training.save(tmp_path / "state.npz", case(variant, epochs=2), state)
    rest, end = trained(case(variant), data, training.load(tmp_path / "state.npz", case(variant)))
    assert first + rest == errors
    assert (end.epochs, set(end.arrays)) == (4, {f"{name}{layer}" for name in ("w", "dw") for layer in (1, 2, 3)})
    assert all(np.array_equal(end.arrays[name], whole.arrays[name]) for name in whole.arrays)
    assert sorted(errors, reverse=True) == errors


def test_steps_that_are_lost_in_the_break_are_noticed(data):
    _, whole = trained(case(), data)
    _, state = trained(case(epochs=2), data)
    lost = {name: np.zeros_like(array) if name.startswith("dw") else array for name, array in state.arrays.items()}
    _, end = trained(case(), data, training.State(2, lost))
    assert not np.array_equal(end.arrays["w1"], whole.arrays["w1"])


def test_a_training_stops_at_the_error_that_is_asked_for(data):
    errors, _ = trained(case(), data)
    assert trained(case(), data, eps=errors[1])[0] == errors[:2]


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_training_that_diverges_is_a_sentence(data):
    with pytest.raises(LadderError, match=r"The error of epoch \d is (nan|inf): try a lower rate"):
        trained(case(rate=1e38), data)


@pytest.fixture
def state(data, tmp_path):
    """A file of a training, and its contents."""
    training.save(tmp_path / "state.npz", case(epochs=2), trained(case(epochs=2), data)[1])
    with np.load(tmp_path / "state.npz") as file:
        return tmp_path / "state.npz", dict(file)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"rate": 0.004}, "is of another training: its rate is 0.005, not 0.004"),
        ({"dtype": "float64"}, "is of another training: its dtype is 'float32', not 'float64'"),
        ({"epochs": 2}, "has 2 epochs, and the case ends at 2: raise `epochs`"),
    ],
)
def test_a_state_of_another_training_is_refused(state, asked, sentence):
    with pytest.raises(LadderError) as error:
        training.load(state[0], case(**asked))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("torn", "or is broken"),
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
    about = json.loads(str(arrays["training"]))
    if fault in ("torn", "text", "empty"):
        whole = path.read_bytes()
        path.write_bytes({"torn": whole[: len(whole) // 2], "text": b"weights", "empty": b""}[fault])
    elif fault == "missing":
        path.unlink()
    else:
        about |= {"epochs of -1": {"epochs": -1}}.get(fault, {})
        about = {name: value for name, value in about.items() if (fault, name) != ("no epochs", "epochs")}
        arrays |= {"training": json.dumps(about)}
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
    _, kept = trained(case(epochs=1), data)
    training.save(tmp_path / "state.npz", case(), kept)
    before = (tmp_path / "state.npz").read_bytes()
    monkeypatch.setattr("os.fsync", lambda number: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(LadderError, match="can't be written: No space left on device"):
        training.save(tmp_path / "state.npz", case(), kept)
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]
    assert (tmp_path / "state.npz").read_bytes() == before


def ladder(*words):
    """The verb `train` in a separate process."""
    return subprocess.run([sys.executable, "-m", "ladder", "train", *map(str, words)], capture_output=True, text=True)


def test_the_verb_trains_keeps_and_goes_on(data, tmp_path):
    sizes, file = ",".join(f"{name}={value}" for name, value in SIZES.items()), tmp_path / "state.npz"
    common = "--tuning", "threads=1,block=512", "--data", data
    first = ladder("backprop", "blas", f"{sizes},epochs=1", "--save", file, *common)
    rest = ladder("backprop", "blas", f"{sizes},epochs=3", "--restart", file, "--save", file, *common)
    assert (first.returncode, rest.returncode) == (0, 0), first.stderr + rest.stderr
    assert [line.partition(":")[0] for line in (first.stdout + rest.stdout).splitlines()] == [
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
def test_what_cannot_be_trained_is_a_sentence(words, sentence):
    done = ladder(*words)
    assert done.returncode
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
