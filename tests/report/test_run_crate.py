"""The metadata of a build, an RO-Crate: correct about every file, and with all that its profiles require."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conftest import ROOT
from ladder.__main__ import main
from ladder.report import run_crate

# What RO-Crate 1.1 and Workflow Run RO-Crate 0.5 require or recommend of each kind of entity.
REQUIRED = {
    "Dataset": {"name", "description"},
    "File": {"name"},
    "ComputationalWorkflow": {"name", "programmingLanguage"},
    "FormalParameter": {"name", "additionalType", "workExample"},
    "CreateAction": {"instrument", "result"},
    "ComputerLanguage": {"name", "url", "version"},
}
ARGUMENTS = ["crate", "--configuration", "results/configuration.json", "--snakefile", str(ROOT / "workflow/Snakefile")]
ARGUMENTS += ["--out", "results/ro-crate-metadata.json"]
RESULTS = ["paper.pdf", "report.zip", "tables/verdicts.csv", "tables/"]


@pytest.fixture
def crate(tmp_path, monkeypatch):
    """The entities of a crate in the working directory, {identifier: entity}."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(["configuration.json", *RESULTS[:-1]]):
        path = Path("results", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content" * number, encoding="utf-8")
    main([*ARGUMENTS, *(f"results/{name}" for name in RESULTS)])
    document = json.loads(Path("results/ro-crate-metadata.json").read_text(encoding="utf-8"))
    assert document["@context"] == run_crate.CONTEXT
    return {entity["@id"]: entity for entity in document["@graph"]}


def types(entity):
    return {entity["@type"]} if isinstance(entity["@type"], str) else {*entity["@type"]}


def references_in(value):
    """The identifiers that a property refers to."""
    values = value if isinstance(value, list) else [value]
    return {entry["@id"] for entry in values if isinstance(entry, dict)}


def test_every_reference_is_an_entity_or_a_web_address(crate):
    identifiers = {name for entity in crate.values() for value in entity.values() for name in references_in(value)}
    assert {name for name in identifiers - {*crate} if not name.startswith("https://")} == set()


def test_every_entity_has_what_the_profiles_require(crate):
    for entity in crate.values():
        for kind in types(entity) & {*REQUIRED}:
            assert REQUIRED[kind] <= {*entity}, entity["@id"]
    assert {"datePublished", "license", "hasPart", "mainEntity", "conformsTo"} <= {*crate["./"]}
    assert {*REQUIRED} <= {kind for entity in crate.values() for kind in types(entity)}


def test_the_run_made_the_results_with_the_workflow_from_the_configuration(crate):
    root, action = crate["./"], crate[run_crate.RUN]
    assert references_in(root["conformsTo"]) == {*run_crate.PROFILES}
    assert references_in(root["mentions"]) == {run_crate.RUN}
    assert references_in(action["instrument"]) == references_in(root["mainEntity"]) == {"workflow/Snakefile"}
    assert references_in(action["object"]) == {"configuration.json"}
    assert references_in(action["result"]) == {*RESULTS}
    assert "ComputationalWorkflow" in types(crate["workflow/Snakefile"])
    assert datetime.fromisoformat(action["endTime"]) <= datetime.now(UTC)
    assert "startTime" not in action  # no run has begun in this folder


def test_parameters_and_their_values_name_each_other(crate):
    parameters = [entity for entity in crate.values() if "FormalParameter" in types(entity)]
    assert {entry["name"] for entry in parameters} == {"configuration", "paper", "report"}
    for entry in parameters:
        (value,) = references_in(entry["workExample"])
        assert references_in(crate[value]["exampleOfWork"]) == {entry["@id"]}


def test_every_file_exists_as_described(crate):
    files = {name: entity for name, entity in crate.items() if "File" in types(entity)}
    assert {*files, "tables/"} == references_in(crate["./"]["hasPart"])
    assert crate["tables/"]["description"] == "1 file"
    for name, entity in files.items():
        content = Path("results", name).read_bytes()
        assert entity["contentSize"] == str(len(content))
        assert entity["sha256"] == hashlib.sha256(content).hexdigest()
    assert Path("results/workflow/Snakefile").read_bytes() == (ROOT / "workflow/Snakefile").read_bytes()
    rules = {path.name for path in (ROOT / "workflow/rules").glob("*.smk")}
    assert {path.name for path in Path("results/workflow/rules").iterdir()} == rules


def test_a_file_outside_of_the_crate_is_refused(crate, capsys):
    Path("elsewhere.csv").write_text("x", encoding="utf-8")
    with pytest.raises(SystemExit):
        main([*ARGUMENTS, "elsewhere.csv"])
    assert "elsewhere.csv is not in results" in capsys.readouterr().err
