"""The description of the published measurements is up to date, complete, and right about every table."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

import made_up
from conftest import ROOT
from ladder.__main__ import main
from ladder.catalogue import setup_arguments, workloads
from ladder.errors import LadderError
from ladder.store import TABLES, columns, counters, data_package, published_index

PUBLISHED = ROOT / data_package.PUBLISHED_FOLDER
PACKAGE = json.loads((PUBLISHED / data_package.FILE_NAME).read_text(encoding="utf-8"))
GZIP_HEADER_BYTES = 10
# {type in a schema: function that converts a column of text}.
CONVERTERS = {
    "string": lambda column: column,
    "integer": lambda column: column.astype("int64"),
    "number": pd.to_numeric,
    "boolean": lambda column: column.map({"True": True, "False": False}).astype(bool),
}


@pytest.mark.slow
def test_the_files_say_what_the_published_folders_hold():
    for name, text in published_index.contents(PUBLISHED).items():
        assert (PUBLISHED / name).read_text(encoding="utf-8") == text, (
            f"results/published/{name} is outdated: run `{published_index.COMMAND}`"
        )


def test_every_published_table_is_a_resource():
    paths = {path.relative_to(PUBLISHED).as_posix() for path in PUBLISHED.rglob("*.csv.gz")}
    assert {resource["path"] for resource in PACKAGE["resources"]} == paths
    assert len({resource["name"] for resource in PACKAGE["resources"]}) == len(paths)


@pytest.mark.parametrize("resource", PACKAGE["resources"], ids=lambda resource: resource["name"])
def test_a_table_fits_its_schema(resource):
    """As `frictionless validate` checks it: header, types and primary key."""
    schema = resource["schema"]
    frame = pd.read_csv(PUBLISHED / resource["path"], dtype=str, keep_default_na=False, low_memory=False)
    assert [field["name"] for field in schema["fields"]] == [*frame]
    assert len(frame) == resource["rows"]
    for field in schema["fields"]:
        distinct = frame[field["name"]].drop_duplicates()
        filled = distinct[distinct != ""]
        values = CONVERTERS[field["type"]](filled)
        assert values.notna().all(), field
        assert len(field["description"].split()) > 1 or len(filled), field
    if key := schema.get("primaryKey"):
        assert not frame.duplicated(key).any()
        assert (frame[key] != "").all(axis=None)


@pytest.mark.parametrize("workload", workloads.names())
def test_a_workload_describes_its_columns_and_no_others(workload):
    module = workloads.load(workload)
    tunings = {name for variant in workloads.variants(workload) for name in setup_arguments.tunings(workload, variant)}
    names = {*module.SIZES, *tunings, *module.FACTS, *module.CURVE}
    assert {name for name in names if not columns.find("samples", name, workload)} == set()
    assert {*columns.of_workload(workload)} <= names


@pytest.mark.parametrize(
    ("values", "declared", "type_name"),
    [
        (["1", "-2"], None, "integer"),
        (["1", "2.5", "1e-05", "inf"], None, "number"),
        (["True", "False"], None, "boolean"),
        (["1", "nn"], None, "string"),
        (["1.0"], "integer", "number"),
        (["1"], "string", "string"),
        ([], "number", "number"),
        ([], None, "string"),
    ],
)
def test_a_type_is_the_narrowest_that_fits(values, declared, type_name):
    assert data_package.kind_of(values, declared) == type_name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The published folder of a machine with one table, of a workload that describes nothing."""
    monkeypatch.chdir(tmp_path)
    path = data_package.PUBLISHED_FOLDER / "here"
    path.mkdir(parents=True)
    row = {"machine": "here", "experiment": "e", "workload": "stranger", "variant": "v", "case": "z=1", "z": 1}
    row |= {"LANG_X": "C", "phase": "total", "seconds": 0.5}
    (path / "samples.csv.gz").write_bytes(gzip.compress(pd.DataFrame([row]).to_csv(index=False).encode()))
    (path / "checks.csv.gz").write_bytes(gzip.compress(b"\n"))
    (path / "machine.json").write_text(
        json.dumps({"machine": "here", "description": made_up.description()}), encoding="utf-8"
    )
    return path


def test_a_column_that_nothing_describes_says_so(folder):
    main(["package"])
    resource, checks = json.loads(
        Path(data_package.PUBLISHED_FOLDER, data_package.FILE_NAME).read_text(encoding="utf-8")
    )["resources"]
    assert checks["rows"] == 0
    fields = {field["name"]: field for field in resource["schema"]["fields"]}
    assert "stranger, which doesn't say more" in fields["z"]["description"]
    assert fields["LANG_X"]["description"] == "the environment variable `LANG_X`"
    assert fields["seconds"] == {
        "name": "seconds",
        "type": "number",
        "description": columns.TABLES["samples"]["seconds"].meaning,
        "unit": "s",
    }
    assert "`here`" in Path(data_package.PUBLISHED_FOLDER, "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [lambda content: content[:-9], lambda content: content[:GZIP_HEADER_BYTES] + b"\xff" * 20],
    ids=["cut off", "inside"],
)
def test_a_damaged_table_is_named(folder, damage):
    path = folder / "samples.csv.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(LadderError, match=r"here/samples\.csv\.gz can't be read"):
        published_index.write()
    assert not Path(data_package.PUBLISHED_FOLDER, data_package.FILE_NAME).exists()


def test_every_table_has_descriptions_and_a_key_of_described_columns():
    assert {*columns.TABLES} == {*data_package.ROWS} == {*TABLES, counters.TABLE}
    for table, key in columns.KEYS.items():
        assert {*key} <= {*columns.CASE, *columns.TABLES[table]}


@pytest.mark.parametrize(
    ("options", "is_renewed"),
    [
        (["--machine", "a", "--into", "results/published"], True),
        (["--machine", "a", "--out", "results/published/a"], True),
        (["--machine", "a", "--out", "elsewhere/a"], False),
    ],
)
def test_publishing_below_the_published_folder_renews_the_files(monkeypatch, options, is_renewed):
    calls = []
    monkeypatch.setattr("ladder.verbs.publish.read_plan", lambda path: {})
    monkeypatch.setattr("ladder.verbs.publish.publish", lambda *arguments: None)
    monkeypatch.setattr("ladder.store.published_index.write", lambda *root: calls.append(root))
    main(["publish", "one.json", *options])
    assert len(calls) == is_renewed
