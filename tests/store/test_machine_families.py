"""Campaigns on machines with the same models of GPU and CPU, pooled for cases on GPUs."""

import json

import pandas as pd
import pytest

from ladder.store import machine_families, table_files
from ladder.store.published_tables import PublishedTables

GPU, OTHER_GPU = "NVIDIA H200", "NVIDIA H100"


@pytest.fixture
def publish(tmp_path):
    """A function that writes the description of a campaign of a machine; `published_rows` gives its tables."""

    def write(machine, gpus, cpu="Xeon", vectors="avx512f", run=1):
        folder = tmp_path / "campaigns" / f"{machine}_{run}"
        folder.mkdir(parents=True)
        description = {"gpus": [{"name": gpu} for gpu in gpus], "cpu": {"Model name": cpu, "Vector units": vectors}}
        (folder / "machine.json").write_text(json.dumps({"machine": machine, "description": description}))
        return folder

    return write


@pytest.fixture
def published_rows(monkeypatch):
    """The rows of every published table, with the machine of its folder; `gpu` has a case's GPUs by address."""
    cases = [("gemm", "cublas", "n=1", "f3"), ("gemm", "blas", "n=1", None), ("gemv", "nccl", "n=1", "f3 e2")]

    def read_published(folder, table, experiment=None):
        machine = json.loads((folder / "machine.json").read_text())["machine"]
        frame = pd.DataFrame(cases, columns=["workload", "variant", "case", "gpu"])
        frame = frame if table == "samples" else frame.drop(columns="gpu")
        return frame.assign(machine=machine, experiment=experiment, process=0)

    monkeypatch.setattr(table_files, "read_published", read_published)
    monkeypatch.setattr(table_files, "published_experiments", lambda folder, table: {"e"})


@pytest.fixture(autouse=True)
def read_descriptions_unchecked(monkeypatch):
    monkeypatch.setattr(machine_families.documents, "read", lambda path, kind: json.loads(path.read_text()))


@pytest.mark.parametrize("table", ["samples", "checks"])
def test_cases_on_gpus_get_the_label_of_the_machine_with_the_most_campaigns(publish, published_rows, table):
    folders = [publish("four", [GPU] * 4), publish("two", [GPU] * 2), publish("two", [GPU] * 2, run=2)]
    folders.append(publish("other", [OTHER_GPU] * 4))
    parts = PublishedTables(folders).frames(table, "e", set())
    machines = [part.set_index("variant")["machine"].str.removesuffix(" (published)").to_dict() for part in parts]
    assert machines == [
        {"cublas": "two", "blas": "four", "nccl": "two"},
        dict.fromkeys(("cublas", "blas", "nccl"), "two"),
        dict.fromkeys(("cublas", "blas", "nccl"), "two"),
        dict.fromkeys(("cublas", "blas", "nccl"), "other"),
    ]
    assert len({part["process"].iloc[0] for part in parts}) == 4


def test_an_experiment_that_needs_more_gpus_than_that_machine_has_keeps_its_label(publish, published_rows):
    folders = [publish("two", [GPU] * 2), publish("one", [GPU]), publish("one", [GPU], run=2)]
    assert machine_families.labels(folders) == {"two": ("one", 1)}  # the new label, and the GPUs of its machine
    parts = PublishedTables(folders).frames("samples", "e", set())
    assert set(parts[0]["machine"]) == {"two (published)"}


def test_machines_with_another_cpu_or_without_a_gpu_keep_their_labels(publish):
    folders = [publish("one", [GPU]), publish("two", [GPU] * 2, cpu="EPYC"), publish("none", []), publish("nil", [])]
    folders.append(publish("narrow", [GPU] * 3, vectors="avx2"))
    assert machine_families.labels(folders) == {}
    assert machine_families.labels([*folders, publish("four", [GPU] * 4)]) == {"one": ("four", 4)}


def test_an_experiment_of_which_nothing_was_measured_keeps_its_label():
    missing = pd.DataFrame({"variant": ["cublas"], "case": ["n=1"], "machine": ["one"]})
    gpus, cases = machine_families.cases_on_gpus(pd.DataFrame())
    assert machine_families.relabel(missing, gpus, cases, ("two", 2)).equals(missing)
