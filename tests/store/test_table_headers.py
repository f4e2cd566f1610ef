"""Every stored table has a header with all columns of the harness, and completing one changes no value."""

import gzip
import io
import json

import pandas as pd
import pytest

import made_up
from conftest import ROOT
from ladder.__main__ import main
from ladder.errors import LadderError
from ladder.store import TABLES, collect, data_package, headers, publish, table_files

PUBLISHED = ROOT / data_package.PUBLISHED_FOLDER
ROW = {"machine": "here", "experiment": "e", "workload": "gemv", "variant": "v", "case": 'a="1,2"', "seconds": 0.1}


@pytest.mark.parametrize(
    "path", sorted(PUBLISHED.rglob("*.csv.gz")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_a_published_table_can_be_read_and_has_all_columns(path):
    names = [*pd.read_csv(path, nrows=1)]
    assert {*headers.required_columns(path.name.partition(".")[0])} <= {*names}
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("text", ["", "\n"])
def test_a_table_without_rows_gets_a_header(table, text):
    frame = pd.read_csv(io.StringIO(headers.complete_header(text, table)))
    assert [*frame] == headers.required_columns(table)
    assert frame.empty


def test_completing_a_table_appends_columns_and_changes_no_value():
    text = pd.DataFrame([ROW, ROW | {"seconds": 1e-07}]).to_csv(index=False)
    completed = headers.complete_header(text, "samples")
    before, after = text.splitlines(), completed.splitlines()
    assert all(
        line.startswith(old_line) and not line[len(old_line) :].strip(",")
        for old_line, line in zip(before[1:], after[1:], strict=True)
    )
    assert after[0].startswith(before[0])
    assert ",gpu" in after[0]
    assert headers.complete_header(completed, "samples") == completed


def test_a_table_that_is_published_now_has_all_columns():
    for frame in (pd.DataFrame(), pd.DataFrame([ROW])):
        text = gzip.decompress(publish.pack(frame, "samples")).decode()
        assert {*headers.required_columns("samples")} <= {*text.splitlines()[0].split(",")}
    assert publish.pack(frame, "samples") == publish.pack(frame, "samples")


@pytest.mark.parametrize("table", TABLES)
def test_a_collected_table_without_rows_has_a_header(tmp_path, table):
    collect.write_table(tmp_path, table, pd.DataFrame())
    assert [*pd.read_csv(tmp_path / f"{table}.csv")] == headers.required_columns(table)
    assert table_files.read(tmp_path / f"{table}.csv", table).empty


def test_the_verb_package_completes_published_tables_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = data_package.PUBLISHED_FOLDER / "here"
    folder.mkdir(parents=True)
    row = ROW | {"phase": "total"}
    (folder / "samples.csv.gz").write_bytes(gzip.compress(pd.DataFrame([row]).to_csv(index=False).encode()))
    (folder / "curves.csv.gz").write_bytes(gzip.compress(b"\n"))
    document = {"machine": "here", "description": made_up.description()}
    (folder / "machine.json").write_text(json.dumps(document), encoding="utf-8")
    main(["package"])
    assert pd.read_csv(folder / "curves.csv.gz").empty
    (completed,) = pd.read_csv(folder / "samples.csv.gz").to_dict("records")
    assert {name: completed[name] for name in row} == row
    contents = {path: path.read_bytes() for path in folder.iterdir()}
    main(["package"])
    assert {path: path.read_bytes() for path in folder.iterdir()} == contents


GZIP_HEADER_BYTES = 10
DAMAGED = {
    "no archive": b"no archive",
    "cut off": gzip.compress(b"a,b\n1,2\n")[:-9],
    "damaged inside": gzip.compress(b"a,b\n1,2\n")[:GZIP_HEADER_BYTES] + b"\xff" * 20,
    "no text": gzip.compress(b"\xff"),
    "no CSV": gzip.compress(b"a,b\n1\r2,3\n"),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_table_is_named(tmp_path, content):
    (tmp_path / "checks.csv.gz").write_bytes(content)
    with pytest.raises(LadderError, match=r"checks\.csv\.gz can't be read"):
        headers.complete_published(tmp_path)
