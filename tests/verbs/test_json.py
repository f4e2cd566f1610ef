"""`--json` of the verbs that print results: one form, on standard output or in a file."""

import json
from pathlib import Path

import pytest

from conftest import ROOT
from ladder.__main__ import main, parser
from ladder.catalogue import workloads
from ladder.planning import status
from ladder.planning.plan import PlannedCase
from ladder.records import record
from ladder.verbs import VERBS
from stored_folders import gemv_case, publish, rows_of

SECONDS_OF_CALLS = [[0.1, 0.11], [0.1, 0.12], [0.11, 0.1]]
CASES = gemv_case("blas", threads=1), gemv_case("openmp", threads=1)
COMMANDS = {  # {verb, maybe with an option that has a document of its own: options}
    "list": ["--configfile", str(ROOT / "config/smoke.yaml"), "--cores", "2"],
    "list --rungs": ["--rungs"],
    "status": [],
    "show": ["gemv"],
    "compare": ["--stored", *(case.key for case in CASES)],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with a run of two cases, of which one failed and one is skipped, and published samples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LADDER_VARIANTS", "")
    publish("box", [row for case in CASES for row in rows_of(case, SECONDS_OF_CALLS)])
    failed, skipped = (
        PlannedCase("gemv_threads", case, skip_reason, "here")
        for case, skip_reason in zip(CASES, (None, "no GPU"), strict=True)
    )
    status.write([failed, skipped], {record.path_of("here", CASES[0].key)})
    log = Path(status.log_of("here", CASES[0].key))
    log.parent.mkdir(parents=True)
    log.write_text("ladder measure: The result is wrong.\n", encoding="utf-8")


def document_of(capsys, name):
    main([name.split()[0], *COMMANDS[name], "--json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_document_has_the_verb_and_a_list_of_results(capsys, name):
    document = document_of(capsys, name)
    assert next(iter(document)) == "verb"
    assert document["verb"] == name.split()[0]
    assert document["results"]
    assert all(isinstance(result, dict) for result in document["results"])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_gets_the_same_document(capsys, name):
    expected = document_of(capsys, name)
    main([name.split()[0], *COMMANDS[name], "--json", "deep/results.json"])
    assert json.loads(Path("deep/results.json").read_text(encoding="utf-8")) == expected


def parser_of(verb):
    """The parser of a verb alone; argparse has no public way to a subparser."""
    return parser([verb])._subparsers._group_actions[0].choices[verb]


def test_these_verbs_and_run_have_the_option_and_no_other():
    with_option = {verb for verb in VERBS if "--json" in parser_of(verb).format_help()}
    assert with_option == {name.split()[0] for name in COMMANDS} | {"run"}


def test_status_has_the_state_of_every_case_and_its_reason(capsys):
    document = document_of(capsys, "status")
    failed, skipped = document["results"]
    assert document["is_at_work"] is False
    assert (failed["state"], failed["why"]) == ("failed", "The result is wrong.")
    assert Path(failed["log"]).exists()
    assert skipped == {"case": CASES[1].key, "machine": "here", "state": "skipped", "why": "no GPU", "log": None}


def test_the_listed_cases_are_those_that_are_printed(capsys):
    results = document_of(capsys, "list")["results"]
    main(["list", *COMMANDS["list"]])
    lines = capsys.readouterr().out.splitlines()[:-1]
    assert [f"{result['experiment']}\t{result['case']}" for result in results] == [
        line.rpartition("\t")[0] for line in lines
    ]
    reasons = [line.rpartition("\tskipped: ")[2] if "\tskipped: " in line else None for line in lines]
    assert [result["skipped"] for result in results] == reasons


def test_the_listed_rungs_are_those_of_every_ladder(capsys):
    results = {result["workload"]: result for result in document_of(capsys, "list --rungs")["results"]}
    assert {*results} == {*workloads.names()}
    (c_openmp,) = (rung for rung in results["gemv"]["rungs"] if rung["variant"] == "c_openmp")
    assert c_openmp["tunings"] == ["threads", "schedule=static|dynamic|guided"]
    assert c_openmp["device"] == "host"
    assert "dtype=float64|float32" in results["gemv"]["sizes"]
