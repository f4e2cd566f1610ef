"""The options of verbs: each is read, and passed to where it belongs."""

import argparse
import ast
import importlib
from pathlib import Path

import pytest

from conftest import ROOT
from ladder.__main__ import main
from ladder.planning import configuration
from ladder.verbs import VERBS

SLUG = "form=nn,m=3,n=5,k=7,dtype=float64,source=random,seed=1,cache=warm,threads=1"


def options_of(verb):
    """The names of a verb's options."""
    parser = argparse.ArgumentParser(add_help=False)
    importlib.import_module(f"ladder.verbs.{verb}").add_arguments(parser)
    return {action.dest for action in parser._actions}


def options_in_code(verb):
    """The names that a verb's module reads from its options, as attributes or strings."""
    tree = ast.parse((ROOT / f"src/ladder/verbs/{verb}.py").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name != "add_arguments"]
    nodes = [node for function in functions for node in ast.walk(function)]
    attributes = {
        node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "options"
    }
    return attributes | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.mark.parametrize("verb", VERBS)
def test_no_option_is_ignored(verb):
    assert options_of(verb) <= options_in_code(verb)


@pytest.fixture
def call_of(monkeypatch):
    """A function that runs a verb with a function of a module replaced, and returns the arguments of its first call."""

    def call_of(module, name, *line):
        calls = []

        def record_call(*arguments, **options):
            calls.append((arguments, options))
            return argparse.Namespace(was_interrupted=False)  # what `compare` reads of a comparison

        monkeypatch.setattr(importlib.import_module(module), name, record_call)
        main(list(line))
        return calls[0]

    return call_of


def test_compare_passes_its_options_to_the_comparison(call_of, monkeypatch):
    monkeypatch.setattr("ladder.harness.comparison.report", lambda result: "")
    line = ["compare", f"gemm/blas/{SLUG}", f"gemm/openmp/{SLUG}", "--samples", "3", "--detect", "0.2", "--cap", "7"]
    line += ["--max-pairs", "5", "--paired", "--reference", "r.npz"]
    cases, options = call_of("ladder.harness.comparison", "compare_cases", *line)
    assert [case.key for case in cases] == line[1:3]
    expected = {
        "samples": 3,
        "detect": 0.2,
        "cap": 7.0,
        "max_pairs": 5,
        "paired": True,
        "reference": "r.npz",
        "data": {},
    }
    assert options | expected == options
    assert set(options) - set(expected) == {"progress"}
    _, options = call_of("ladder.harness.comparison", "compare_cases", *line[:3])
    expected = {
        "samples": 10,
        "detect": 0.05,
        "cap": 600,
        "max_pairs": 30,
        "paired": False,
        "reference": None,
        "data": {},
    }
    assert options | expected == options


def test_measure_passes_its_options_to_the_measurement(call_of, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ladder.verbs.measure.read_ceilings", lambda path: {"of": path})
    line = ["measure", "gemm", "blas", SLUG, "--out", "r.json", "--machine", "m", "--protocol", '{"processes": 2}']
    line += ["--reference", "r.npz", "--ceilings", "c.json", "--granted", "4", "--launcher", "mpiexec -x"]
    (case, *arguments), _ = call_of("ladder.verbs.measure", "measure", *line)
    assert case.key == f"gemm/blas/{SLUG}"
    protocol = configuration.protocol({"processes": 2})
    assert arguments == ["r.json", protocol, "m", {}, "r.npz", {"of": "c.json"}, 4, "mpiexec -x", {}]


def test_a_figure_gets_what_its_constants_request(call_of, monkeypatch):
    """It gets tables by the name of their folder, and ceilings if it uses them."""
    monkeypatch.setattr("ladder.store.table_files.load", lambda folder: f"of {folder}")
    monkeypatch.setattr("ladder.records.documents.read", lambda path, kind: (path, kind))
    line = ["figure", "descent_waterfall", "--tables", "t/descent_ladder", "--roofs", "roofs.json", "--out", "x"]
    (name, out), inputs = call_of("ladder.report.figures", "write", *line)
    assert (name, out) == ("descent_waterfall", "x")
    assert inputs == {"tables": {"descent_ladder": "of t/descent_ladder"}, "ceilings": ("roofs.json", "roofs")}


def test_tables_are_written_to_the_files_that_options_name(monkeypatch, tmp_path):
    """The verb passes on its options, and writes verdicts, the validation page and the tables to their files."""
    calls = []
    monkeypatch.setattr("ladder.store.study.load", lambda *arguments: calls.append(arguments) or "study")
    monkeypatch.setattr("ladder.report.tables.tables", lambda *arguments: calls.append(arguments) or {"one": "text"})
    monkeypatch.setattr("ladder.report.validation_table.page", lambda results: f"page of {results}")
    rows = argparse.Namespace(to_csv=lambda index: "a,b\n")
    monkeypatch.setattr("ladder.report.verdicts.rows", lambda results: rows)
    line = [
        "tables",
        "t/a",
        "t/b",
        "--machine",
        "m",
        "--description",
        "d.json",
        "--roofs",
        "r.json",
        "--kernel",
        "k.json",
        "--counters",
        "c.csv.gz",
    ]
    paths = {name: str(tmp_path / name) for name in ("out", "html", "verdicts")}
    main([*line, "--sensitivity", "s.csv", *(word for name, path in paths.items() for word in (f"--{name}", path))])
    assert calls == [(["t/a", "t/b"], "m", ["d.json"], "r.json"), ("study", ["k.json"], "s.csv", ["c.csv.gz"])]
    assert (tmp_path / "html").read_text() == "page of study"
    assert (tmp_path / "verdicts").read_text() == "a,b\n"
    assert (tmp_path / "out/one.tex").read_text().endswith("text")


def test_numbers_and_texts_are_of_the_study_and_the_protocol_that_are_named(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr("ladder.store.study.load", lambda *arguments: calls.append(arguments) or "study")
    monkeypatch.setattr("ladder.report.numbers.numbers", lambda *arguments: calls.append(arguments) or {"a": 1})
    monkeypatch.setattr("ladder.report.numbers.text", lambda values: f"numbers {values}")
    monkeypatch.setattr(
        "ladder.report.texts.render", lambda *arguments: calls.append(arguments) or {"gemm/one.tex": "text"}
    )
    line = ["numbers", "t/a", "--machine", "m", "--description", "d.json", "--roofs", "r.json", "--margin", "1.5"]
    line += ["--protocol", '{"processes": 2}', "--template", "x.tex", "--texts", str(tmp_path / "texts")]
    main([*line, "--out", str(tmp_path / "numbers.tex")])
    protocol = configuration.protocol({"processes": 2})
    assert calls == [
        (["t/a"], "m", ["d.json"], "r.json"),
        ("study", protocol, 1.5),
        ("study", {"a": 1}, ["x.tex"]),
    ]
    assert (tmp_path / "numbers.tex").read_text().endswith("numbers {'a': 1}")
    assert (tmp_path / "texts/gemm/one.tex").read_text() == "text"


# `published` has the machine, the folder and the option --keep of every publication; None: the options are refused.
@pytest.mark.parametrize(
    ("options", "published"),
    [
        (["--machine", "a", "--out", "p"], [("a", "p", False)]),
        (["--machine", "a", "--machine", "b", "--into", "p", "--keep"], [("a", "p/a", True), ("b", "p/b", True)]),
        (["--machine", "a", "--machine", "b", "--out", "p"], None),
    ],
)
def test_every_machine_is_published_in_a_folder_of_its_own(monkeypatch, options, published):
    calls = []
    monkeypatch.setattr("ladder.verbs.publish.read_plan", lambda path: f"plan {path}")
    monkeypatch.setattr(
        "ladder.verbs.publish.publish", lambda plans, machine, folder, keep: calls.append((machine, str(folder), keep))
    )
    if published is None:
        with pytest.raises(SystemExit):
            main(["publish", "one.json", *options])
    else:
        main(["publish", "one.json", *options])
    assert calls == (published or [])


def test_every_plan_is_collected_in_a_folder_of_its_experiments_name(monkeypatch):
    calls = []
    monkeypatch.setattr("ladder.verbs.collect.read_plan", lambda path: {"experiment": path.removesuffix(".json")})
    monkeypatch.setattr("ladder.store.collect.collect", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr("ladder.verbs.collect.PublishedTables", list)
    main(["collect", "one.json", "two.json", "--published", "p/a", "--published", "p/b", "--out", "tables"])
    published = ["p/a", "p/b"]
    assert calls == [({"experiment": name}, Path("tables", name), published) for name in ("one", "two")]
