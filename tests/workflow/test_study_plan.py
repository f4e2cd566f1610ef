"""The plan of the study: the planned cases, their machines, and mistakes that end the run."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from ladder.workflow import study_plan
from small_plans import experiment, job_wildcards, read_plan, snakemake_workflow

TWO_CASES = {"blas": {"threads": [1, 2]}}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def test_records_are_those_of_the_experiments_machines_and_cases_that_run():
    study = read_plan(
        {"one": experiment({"blas": {"threads": [1, 2, 3]}}), "other": experiment({"tiled": {"threads": 1}})}
    )
    assert study.experiments == ["one", "other"]
    assert study.machines == study.measured_machines == ["here"]
    records = study.records(["one"])
    assert len(records) == 2
    assert all(path.startswith("results/records/here/gemm/blas/form=nn+m=17+") for path in records)
    assert {path[-len("threads=1.json") :] for path in records} == {"threads=1.json", "threads=2.json"}
    assert len(study.records(["one", "other"])) == 3
    assert study.records(["one"], ["elsewhere"]) == study.records([]) == []


def test_a_case_of_two_experiments_has_one_record():
    study = read_plan({"one": experiment(TWO_CASES), "other": experiment(TWO_CASES)})
    assert len(study.cases) == 4
    assert len(study.records(study.experiments)) == 2


def test_a_run_that_measures_nothing_keeps_what_has_a_record_and_knows_every_case():
    experiments = {"one": experiment(TWO_CASES)}
    (path, _) = read_plan(experiments).records(["one"])
    assert read_plan(experiments, measure=False).cases == []
    Path(path).parent.mkdir(parents=True)
    Path(path).touch()
    study = read_plan(experiments, measure=False)
    assert study.records(["one"]) == [path]
    assert [str(item.skip_reason) for item in study.cases if item.skip_reason] == ["not measured"]
    assert [item.skip_reason for item in study.every_case] == [None, None]


def test_cases_of_a_cluster_are_planned_for_its_nodes():
    nodes = {"partition": "p", "machine": "lab", "cores": 8, "memory": 1000}
    study = read_plan(
        {"one": experiment(TWO_CASES)}, nodes={"cpu": nodes, "gpu": nodes | {"machine": "lab-gpu", "gpus": 1}}
    )
    assert study.machines == ["lab", "lab-gpu"]
    assert study.measured_machines == ["lab"]
    assert study.target_of(study.cases[0].case).cores == 8
    assert study.target_of_label("lab-gpu").gpus == 1
    assert study.site["nodes"]["cpu"]["partition"] == "p"


def test_the_document_of_a_plan_is_its_experiments_alone():
    study = read_plan({"one": experiment(TWO_CASES), "other": experiment({"tiled": {"threads": 64}})})
    document = json.loads(study.document(SimpleNamespace(experiment="other")))
    assert document["experiment"] == "other"
    assert [case["left_out"] for case in document["cases"]] == ["needs 64 cores, 2 available"]
    assert study.document(SimpleNamespace(experiment="other")).endswith("}\n")
    assert study.digest(SimpleNamespace(experiment="other")) == document["digest"]
    assert study.digest(SimpleNamespace(experiment="one")) != document["digest"]


def test_a_case_that_is_not_planned_ends_the_run_with_a_sentence():
    study = read_plan({"one": experiment(TWO_CASES)})
    case = study.cases[0].case
    assert study.planned_case(job_wildcards(case)) == case
    job = job_wildcards(case)
    job.case = job.case.replace("m=17", "m=18")
    with pytest.raises(SystemExit, match=r"^ladder: gemm/blas/form=nn,m=18,\S+ is not a case of this configuration: "):
        study.planned_case(job)


def test_protocols_are_those_of_the_cases():
    experiments = {
        "one": experiment(TWO_CASES),
        "other": experiment({"tiled": {"threads": 1}}, protocol={"samples": 3}),
    }
    study = read_plan(experiments)
    samples = {key.split("/")[1]: json.loads(protocol)["samples"] for key, protocol in study.protocols.items()}
    assert samples["tiled"] == 3 != samples["blas"]


def refusal_of(config, root="/project"):
    """The message with which the run ends."""
    with pytest.raises(SystemExit) as end:
        study_plan.read(config, snakemake_workflow(), root)
    return end.value.code


def test_a_users_mistake_ends_the_run_with_a_sentence():
    config = {"experiments": {"one": experiment({"blas": {"colour": "red"}})}}
    assert refusal_of(config).startswith("ladder: The experiment 'one' can't be planned: ")
    assert "isn't UTF-8: rename the folder" in refusal_of(config, root="/in/caf\udce9")  # Python's text of byte 0xE9
    assert "has a brace in its name" in refusal_of(config, root="/in {braces}")
    assert "No measurements are published for moon" in refusal_of({"experiments": {}, "published": ["moon"]})
