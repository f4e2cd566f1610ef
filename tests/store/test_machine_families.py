"""Campaigns on machines with the same models of GPU and CPU, pooled for cases on one GPU."""

import json

import pandas as pd
import pytest

from ladder.store import collect, machine_families, stored

GPU, OTHER_GPU = "NVIDIA H200", "NVIDIA H100"


@pytest.fixture
def publish(tmp_path):
    """A function that publishes a campaign of a machine with some GPUs: a case on one GPU and one on the host."""

    def write(machine, gpus, cpu="Xeon", vectors="avx512f"):
        folder = tmp_path / "campaigns" / f"{machine}_{gpus}"
        folder.mkdir(parents=True)
        described = {"gpus": [{"name": gpu} for gpu in gpus], "cpu": {"Model name": cpu, "Vector units": vectors}}
        (folder / "machine.json").write_text(json.dumps({"machine": machine, "description": described}))
        return folder

    return write


@pytest.fixture
def rows(monkeypatch):
    """Every published table has these rows; `machine` is the folder's."""
    cases = [("gemm", "cublas", "n=1", "f3"), ("gemm", "blas", "n=1", None), ("gemv", "nccl", "n=1", "f3 e2")]

    def published(folder, table, experiment=None):
        machine = json.loads((folder / "machine.json").read_text())["machine"]
        frame = pd.DataFrame(cases, columns=["workload", "variant", "case", "gpu"])
        frame = frame if table == "samples" else frame.drop(columns="gpu")
        return frame.assign(machine=machine, experiment=experiment, process=0)

    monkeypatch.setattr(stored, "published", published)


@pytest.fixture(autouse=True)
def description_is_trusted(monkeypatch):
    monkeypatch.setattr(machine_families.documents, "read", lambda path, kind: json.loads(path.read_text()))


@pytest.mark.parametrize("table", ["samples", "checks"])
def test_a_case_on_one_gpu_is_of_the_machine_with_the_most_gpus_of_its_model(publish, rows, table):
    folders = [publish("one", [GPU]), publish("two", [GPU] * 2), publish("other", [OTHER_GPU] * 4)]
    parts = collect.published_parts(folders, table, "e", set())
    machines = [part.set_index("variant")["machine"].str.removesuffix(" (published)").to_dict() for part in parts]
    assert machines == [
        {"cublas": "two", "blas": "one", "nccl": "one"},
        dict.fromkeys(("cublas", "blas", "nccl"), "two"),
        dict.fromkeys(("cublas", "blas", "nccl"), "other"),
    ]
    assert len({part["process"].iloc[0] for part in parts}) == 3


def test_machines_with_another_cpu_or_without_a_gpu_keep_their_labels(publish):
    folders = [publish("one", [GPU]), publish("two", [GPU] * 2, cpu="EPYC"), publish("none", []), publish("nil", [])]
    folders.append(publish("narrow", [GPU] * 3, vectors="avx2"))
    assert machine_families.labels(folders) == {}
    assert machine_families.labels([*folders, publish("four", [GPU] * 4)]) == {"one": "four"}
