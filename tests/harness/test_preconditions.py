"""Refusals before any worker starts: missing, broken or wrong references, and too large arrays."""

from pathlib import Path

import numpy as np
import pytest

from ladder.__main__ import main
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import comparison, measure, preconditions
from ladder.planning import configuration
from ladder.records.case import Case

SIZES = {"layers": "784-7-10", "images": 65, "batch": 30, "epochs": 2, "rate": 0.5, "source": "digits"}


def training(**sizes):
    return Case("mlp", "host", workloads.complete("mlp", SIZES | sizes), {"product": "blas", "threads": 1}, "warm")


def write_reference(path="right.npz", **sizes):
    """Write a file with the identity of the reference of these sizes, but other contents."""
    reference_sizes = workloads.load("mlp").reference_sizes(training(**sizes).sizes)
    preconditions.write_reference(path, "mlp", reference_sizes, {"w1_drift": np.zeros(2)})


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """A working directory with right and wrong references; the test fails if a worker is started."""
    monkeypatch.chdir(tmp_path)
    for module in (measure, comparison):
        monkeypatch.setattr(module, "hold_machine", lambda *cases, **options: pytest.fail("the case is measured"))
    write_reference()
    write_reference("other.npz", epochs=3)
    Path("text.npz").write_text("foo", encoding="utf-8")
    Path("truncated.npz").write_bytes(Path("right.npz").read_bytes()[:-100])
    flipped = bytearray(Path("right.npz").read_bytes())
    flipped[flipped.index(b"PK\1\2") + 8] |= 1  # the flag of an encrypted array
    Path("flipped.npz").write_bytes(flipped)
    np.savez("unnamed.npz", w1_drift=np.zeros(2))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.npz", "missing.npz can't be read: No such file"),
        ("text.npz", "text.npz isn't a reference written by the verb `reference`, or is broken"),
        ("truncated.npz", "truncated.npz isn't a reference written by the verb `reference`, or is broken"),
        ("flipped.npz", "flipped.npz isn't a reference written by the verb `reference`, or is broken"),
        ("unnamed.npz", "unnamed.npz isn't the reference of mlp/layers=784-7-10,"),
        ("other.npz", "other.npz isn't the reference of mlp/layers=784-7-10,"),
        (None, "is checked against a reference: write it"),
    ],
)
def test_a_missing_or_wrong_reference_is_refused(name, sentence):
    protocol = configuration.protocol({})
    for run in (
        lambda: measure.measure(training(), "x.json", protocol, "here", reference=name),
        lambda: comparison.compare_cases(training(), training(), reference=name),
    ):
        with pytest.raises(LadderError) as error:
            run()
        assert sentence in str(error.value)


def test_a_reference_serves_every_dtype_and_an_old_one_is_identified_by_path():
    for dtype in ("float32", "float64"):
        preconditions.require_preconditions(training(dtype=dtype), "right.npz")
    path = Path(
        preconditions.reference_identity("mlp", workloads.load("mlp").reference_sizes(training().sizes)) + ".npz"
    )
    path.parent.mkdir()
    Path("unnamed.npz").rename(path)
    preconditions.require_preconditions(training(), path)


def test_a_reference_is_written_with_its_folders():
    write_reference("new/and below/right.npz")
    preconditions.require_preconditions(training(), "new/and below/right.npz")


@pytest.mark.parametrize(("nodes", "cores"), [(None, 8), ("1", 8), ("2", 4), ("3", 4), ("4", 2)])
def test_the_quota_must_suffice_for_the_ranks_of_this_node(monkeypatch, nodes, cores):
    """Of 4 ranks with 2 threads each; on 3 nodes, one node may have 2 of them."""
    counts = []
    monkeypatch.setattr(preconditions.cpus, "require_quota", counts.append)
    monkeypatch.setenv("LADDER_NODES", nodes) if nodes else monkeypatch.delenv("LADDER_NODES", raising=False)
    tuning = {"ranks": 4, "threads": 2, "mode": "ship"}
    preconditions.require_preconditions(
        Case("gemv", "mpi_openmp", workloads.complete("gemv", {"n": 5, "m": 3}), tuning), None
    )
    assert counts == [cores]


def test_arrays_beyond_the_memory_are_refused():
    sizes = workloads.complete("gemm", {"m": 10**7, "n": 10**7, "k": 10})
    # The result has 10**14 elements of 8 bytes.
    with pytest.raises(LadderError, match=r"gemm/blas/\S+ need 8e\+05 GB, but this machine has .* lower its sizes"):
        preconditions.require_preconditions(Case("gemm", "blas", sizes, {"threads": 1}), None)


def test_arrays_generated_on_a_gpu_need_no_host_memory():
    sizes = workloads.complete("descent", {"n": 10**7, "kappa": 10.0, "iterations": 3})
    preconditions.require_memory(Case("descent", "cuda_fused", sizes, {}))
    with pytest.raises(LadderError, match="but this machine has"):
        preconditions.require_memory(Case("descent", "blas", sizes, {"threads": 1}))


def test_running_out_of_memory_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(comparison, "compare_cases", lambda *cases, **options: np.empty(10**15))
    key = training().key
    with pytest.raises(SystemExit):
        main(["compare", key, key])
    assert "ladder compare: Out of memory: Unable to allocate" in capsys.readouterr().err
