"""Facts that a run determines, inputs generated on the device and numeric defaults of sizes."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import JOB_PROTOCOL, PROTOCOL
from ladder import devices
from ladder.catalogue import sources, workloads
from ladder.errors import LadderError
from ladder.harness import measure, worker
from ladder.planning import configuration
from ladder.records import record
from ladder.records.case import Case
from ladder.store import collect, table_files

HOST = devices.load("host")
WORKLOAD = """
from types import SimpleNamespace

import numpy as np

from ladder.harness.validation import compare

SIZES = {"n": int, "share": 0.5, "count": 3, "dtype": ("float64",)}
FACTS = ("steps", "loaded_bytes")
GENERATED = ("large",)


def arrays(sizes):
    inputs = {"large": ((sizes["n"],), "float64"), "small": ((1,), "float64")}
    return inputs, {"y": ((sizes["n"],), "float64"), "steps": ((1,), "int64"), "loaded_bytes": ((1,), "int64")}


def fill(inputs, sizes, round, data):
    inputs["small"][...] = 1 + round
    return ["small"]


def generate(problem, round):
    problem.large[...] = 10 * (1 + round)


def cost(sizes, facts):
    return SimpleNamespace(flops=facts["steps"], bytes=facts["loaded_bytes"] + sizes["n"], precision="float64")


def check(sizes, inputs, outputs, round, data, reference, precision):
    assert list(inputs) == ["small"]
    return [compare("sum", outputs["y"], np.full(sizes["n"], 11.0 * (1 + round)), 0.0)], None
"""
VARIANT = """
import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int):
    def run():
        np.add(problem.large, problem.small, out=problem.y)
        problem.steps[0], problem.loaded_bytes[0] = 7, 70

    return run
"""


@pytest.fixture(autouse=True)
def workload_folder(tmp_path, monkeypatch):
    """A user's folder with the workload `with_facts`, which is also the working directory."""
    folder = tmp_path / "variants/with_facts"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(WORKLOAD)
    (folder / "numpy.py").write_text(VARIANT)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "variants"))
    monkeypatch.chdir(tmp_path)
    sources.clear_caches()
    yield
    sources.clear_caches()


def case_of(**sizes):
    return Case("with_facts", "numpy", workloads.complete("with_facts", {"n": 5} | sizes), {"threads": 1}, "warm")


def test_facts_are_in_record_and_table_and_determine_the_cost():
    case = case_of()
    path = record.path_of("here", case.key)
    measure.measure(case, path, configuration.protocol(PROTOCOL), "here")
    result = record.read(path)
    assert [process["facts"] for process in result["processes"]] == [{"steps": 7, "loaded_bytes": 70}]
    assert (result["cost"]["flops"], result["cost"]["bytes"]) == (7, 75)
    plan_case = {"key": case.key, "machine": "here", "left_out": None, "sources": result["sources"]}
    collect.collect({"experiment": "one", "cases": [plan_case]}, "tables")
    samples = table_files.load("tables")["samples"]
    assert set(zip(samples["steps"], samples["loaded_bytes"], samples["flops"], strict=True)) == {(7, 70, 7)}
    assert samples["steps"].dtype == np.int64
    assert json.loads(Path(path).read_text(encoding="utf-8"))["processes"][0]["facts"]["steps"] == 7


def test_the_cost_uses_the_minimum_of_each_fact():
    cost = measure.cost_of_results(
        case_of(), [{"facts": facts} for facts in ({"steps": 9, "loaded_bytes": 20}, {"steps": 8, "loaded_bytes": 30})]
    )
    assert (cost.flops, cost.bytes) == (8, 25)


def test_generated_inputs_are_never_staged_and_change_every_round(monkeypatch):
    staged_names, generated_rounds = [], []
    workload, staging = workloads.load("with_facts"), HOST.staging_arrays
    generate = workload.generate
    monkeypatch.setattr(HOST, "staging_arrays", lambda arrays, pinned: staged_names.extend(arrays) or staging(arrays))
    monkeypatch.setattr(HOST, "transfers", lambda arrays, problem: staged_names.extend(arrays) or [])
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)  # this process may have any number of threads
    monkeypatch.setattr(
        workload, "generate", lambda *arguments: generated_rounds.append(arguments[1]) or generate(*arguments)
    )
    job = SimpleNamespace(data={}, reference=None, **JOB_PROTOCOL)
    result = worker.run_case(case_of(), workload, workloads.load_variant("with_facts", "numpy"), job)
    assert set(staged_names) == {"small"}
    assert generated_rounds == [0, 1]  # before the set-up, and for the second round
    assert result["facts"] == {"steps": 7, "loaded_bytes": 70}


def test_the_default_of_a_size_may_be_a_number():
    assert case_of().sizes == {"n": 5, "share": 0.5, "count": 3, "dtype": "float64"}
    assert case_of(share=0, count=0).slug == "n=5,share=0.0,count=0,dtype=float64,cache=warm,threads=1"
    assert case_of(share=2).sizes["share"] == 2.0
    assert Case.parse("with_facts", "numpy", case_of(share=1e-6).slug) == case_of(share=1e-6)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"share": -0.1}, "share=-0.1 of with_facts must be a number of at least 0"),
        ({"share": float("nan")}, "share=nan of with_facts must be a number of at least 0"),
        ({"share": "half"}, "share='half' of with_facts must be a number of at least 0"),
        ({"share": True}, "share=True of with_facts must be a number of at least 0"),
        ({"count": 0.5}, "count=0.5 of with_facts must be a whole number of at least 0"),
        ({"count": -1}, "count=-1 of with_facts must be a whole number of at least 0"),
    ],
)
def test_an_invalid_number_for_a_size_is_an_error(sizes, message):
    with pytest.raises(LadderError) as error:
        case_of(**sizes)
    assert message in str(error.value)
