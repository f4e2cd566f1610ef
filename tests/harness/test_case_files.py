"""The files that a case reads are made if that takes seconds, and named otherwise."""

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.harness import case_files
from ladder.harness.case_arguments import cases_of
from ladder.harness.preconditions import require_reference

TRAINING = "layers=784-7-10 images=40 batch=20 epochs=1 rate=0.5 source=digits product=blas".split()


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def provide(*words):
    """The files of the first case of a command line, (data, reference), and what is said about them."""
    sentences = []
    return case_files.provide(cases_of(words)[0], sentences.append), sentences


def test_random_inputs_need_no_file():
    assert provide("gemm/blas", "m=1", "n=1", "k=1") == (({}, None), [])  # no data, no reference, nothing to say


def test_digits_and_a_reference_are_made_once():
    (data, reference), sentences = provide("mlp/host", *TRAINING)
    assert data == {"digits": "results/data/digits"}
    assert [sentence.split()[0] for sentence in sentences] == ["Writes", "Computes"]
    require_reference(cases_of(["mlp/host", *TRAINING])[0], reference)
    assert np.load(reference)
    assert provide("mlp/host", *TRAINING) == ((data, reference), [])


def test_the_command_that_gets_missing_data_is_named():
    with pytest.raises(
        LadderError, match=r"The data mnist are missing: get them with `.*ladder data mnist --out results"
    ):
        provide("gemm/blas", "m=1", "n=1", "k=1", "source=mnist")
    command = r"`.*ladder artefact dcgan .* --data results/data/mnist --out results/data/dcgan/"
    with pytest.raises(LadderError, match=command):
        provide("dcgan/host", "images=1", "weights=trained")


def test_a_published_artefact_is_unpacked(monkeypatch):
    monkeypatch.setattr(case_files.published, "checksum_of", lambda workload, file: "0")
    unpacked, sentences = [], []
    monkeypatch.setattr(case_files.published, "unpack", lambda *arguments: unpacked.append(arguments))
    case_files.make_data("dcgan/learned.bin", "out", sentences.append)
    assert unpacked == [("dcgan", "learned.bin", "out")]
    assert sentences == ["Unpacks dcgan/learned.bin to out."]
