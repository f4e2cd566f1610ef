"""Damaged tables are refused, and so are published ones that don't fit their description."""

import gzip
import json
import random
from pathlib import Path

import pandas as pd
import pytest

import made_up
from ladder.errors import LadderError
from ladder.records import checksums, documents
from ladder.store import TABLES, collect, study, table_files

ROW = dict.fromkeys(table_files.RECORD_COLUMNS, "a") | {
    "machine": "here",
    "experiment": "small",
    "case": "m=1,cache=cold,threads=2",
}
SAMPLE = ROW | {
    "cache": "cold",
    "device": "host",
    "flops": 2,
    "bytes": 8.0,
    "precision": "float64",
    "process": 0,
    "threads_found": 1,
}
ROWS = {
    "samples": SAMPLE | {"sample": 0, "phase": "total", "seconds": 0.5, "unknown": None},
    "checks": ROW | {"process": 0, "check": "sum", "error": 0.0, "bound": 1.0},
    "curves": ROW | {"process": 0},
    "traces": ROW | {"process": 0, "lane": "null", "name": "01", "start": 0.0, "end": 1.0},
    "missing": ROW | {"why": "not measured"},
}


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A folder with the tables of an experiment, and the same tables as a publication of a machine."""
    monkeypatch.chdir(tmp_path)
    for name, row in ROWS.items():
        text = pd.DataFrame([row] * 3).to_csv(index=False)
        Path(f"{name}.csv").write_text(text, encoding="utf-8")
        Path(f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path("machine.json").write_text(
        json.dumps({"machine": "here", "description": made_up.description()}), encoding="utf-8"
    )


def change_table(change, name="samples"):
    """Change the text of a table and of its publication."""
    path = Path(f"{name}.csv")
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    Path(f"{name}.csv.gz").write_bytes(gzip.compress(path.read_bytes()))


def error_messages():
    """The error messages on reading the changed table and its publication."""
    messages = []
    for read in (
        lambda: table_files.load("."),
        lambda: [table_files.read_published(".", name, "small") for name in TABLES],
    ):
        with pytest.raises(
            LadderError, match=r"^The table \S+ can't be read: .* Restore it, or make it again\.$"
        ) as error:
            read()
        messages.append(str(error.value))
    return messages


def test_a_table_and_its_publication_are_read_alike():
    tables = table_files.load(".")
    for name, frame in tables.items():
        assert len(frame) == 3
        pd.testing.assert_frame_equal(table_files.read_published(".", name), frame)
        part = table_files.with_types(table_files.read_published(".", name, "small"))
        pd.testing.assert_frame_equal(part, frame)
        assert table_files.read_published(".", name, "other").empty
        assert table_files.published_experiments(".", name) == {"small"}
    assert tables["traces"][["lane", "name"]].iloc[0].tolist() == ["null", "01"]


def test_numbers_are_read_as_they_are_written():
    generator = random.Random(1)
    values = [table_files.PROBE_NUMBER, *(generator.uniform(1e-7, 1e-3) for _ in range(500))]
    pd.DataFrame([ROWS["samples"] | {"seconds": value} for value in values]).to_csv("samples.csv", index=False)
    assert table_files.load(".")["samples"]["seconds"].tolist() == values


def test_a_table_with_a_changed_digit_is_refused_by_its_checksum():
    checksums.write(".", ["samples.csv", "checks.csv"])
    table_files.load(".")
    path = Path("samples.csv")
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.7", 1))
    with pytest.raises(
        LadderError, match=r"^The table samples.csv can't be read: its SHA-256 sum differs .* make it again"
    ):
        table_files.load(".")


# The table has a header and three rows, of 16 fields each.
@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (lambda text: "", "it is cut off"),
        (lambda text: text[:-1], "it is cut off"),
        (lambda text: text + "\n", "line 5 has 0 fields where the header has 16"),
        (lambda text: text + "foo\n", "line 5 has 1 fields"),
        (lambda text: text + "here,small,a\n", "line 5 has 3 fields"),
        (lambda text: text.replace("0.5", "0.5,0.5", 1), "line 2 has 17 fields"),
        (lambda text: text.replace("total,0.5", '"total,0.5"', 1), "line 2 has 15 fields"),
        (lambda text: text.replace("seconds", "time"), "it has no column seconds"),
        (lambda text: text.replace("total,0.5", "0.5,total", 1), "its row 1 has total as its seconds"),
        (lambda text: text.replace("0.5", ""), "its row 1 has nan as its seconds"),
        (lambda text: text.replace("0.5", "inf"), "its row 1 has inf as its seconds"),
        (lambda text: text.replace("0.5", "-1", 1), "its row 1 has -1.0 as its seconds"),
        (lambda text: text.replace("float64", ""), "its row 1 has nan as its precision"),
    ],
)
def test_a_damaged_table_is_refused_with_the_place(change, mistake):
    change_table(change)
    assert all(mistake in message for message in error_messages())


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (lambda text: "\n", "it has no rows"),
        (lambda text: text[: text.index("\n") + 1], "it has no rows"),
        (lambda text: text.replace("machine", "host"), "its first columns aren't machine and experiment"),
        (
            lambda text: text.replace("here", "there"),
            "it has a row of the machine 'there' where machine.json is of here",
        ),
    ],
)
@pytest.mark.parametrize("name", ["samples", "checks"])
def test_a_published_table_without_rows_of_its_machine_is_refused(name, change, mistake):
    change_table(change, name)
    with pytest.raises(LadderError, match=mistake):
        table_files.read_published(".", name, "small")


def test_a_cell_of_several_lines_is_a_cell():
    change_table(lambda text: text.replace("not measured", '"not,\nmeasured"'), "missing")
    assert table_files.load(".")["missing"]["why"].tolist() == ["not,\nmeasured"] * 3


@pytest.mark.parametrize("document", [{}, [], {"machine": "here"}, {"machine": "here", "description": {"cpu": {}}}])
@pytest.mark.parametrize(
    "read", [study.read_description, lambda path: table_files.read_published(path.parent, "samples")]
)
def test_a_publication_without_a_description_of_its_machine_is_refused(document, read):
    Path("machine.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(LadderError, match=r"^machine.json can't be used as the publication: .* Restore it, or"):
        read(Path("machine.json"))


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("run", {"host": "vm", "cases": [{}]}),
        ("roofs", {"here": []}),
        ("roofs", {"here": {"rows": [{"workload": "gemm", "variant": "blas", "case": "", "best": 1.0}]}}),
        ("ceilings", {"flops": [], "bandwidth": 1.0, "cache_bytes": 1, "margin": 1.5, "rows": []}),
        ("ceilings", {"flops": {}, "bandwidth": 1.0, "cache_bytes": 1, "margin": float("nan"), "rows": []}),
        ("times", [{"gpus": 1}]),
        ("kernels", made_up.kernel_report() | {"kernels": {}}),
    ],
)
def test_a_document_of_another_form_is_refused_with_its_kind(kind, document):
    Path("one.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(LadderError, match=f"^one.json can't be used as the {kind}: "):
        documents.read("one.json", kind)


NUMBER_LIKE_TEXTS = ("0815", "1e5", "12.10", "nan", "inf", "true", "null", "1e10000", "007", "-0", "0x10")


@pytest.mark.parametrize("text", NUMBER_LIKE_TEXTS)
def test_text_that_looks_like_a_number_stays_text(text):
    """In every column of text, and in that of a tuning with words, after writing and reading."""
    text_columns = [name for name in SAMPLE if isinstance(SAMPLE[name], str) and name != "case"]
    slug = "m=1,cache=cold,order=true,threads=2"
    row = ROWS["samples"] | dict.fromkeys([*text_columns, "commit", "phase"], text) | {"case": slug, "order": "true"}
    collect.write_table(".", "samples", pd.DataFrame([row] * 2))
    frame = table_files.read("samples.csv", "samples")
    assert all(set(frame[name]) == {text} for name in [*text_columns, "commit", "phase"])
    assert set(frame["order"]) == {"true"}
    assert set(frame["flops"]) == {2}
    collect.join_samples(["."], "table.csv")
    assert Path("table.csv").read_bytes() == Path("samples.csv").read_bytes()


def test_a_number_stays_a_number_beside_a_tuning_of_its_name():
    """The training `backprop/openmp` has a tuning `error`, as a check has an error."""
    slug = "images=1,cache=cold,error=atomic,threads=2"
    collect.write_table(".", "checks", pd.DataFrame([ROWS["checks"] | {"case": slug, "error": 0.5, "bound": 1.0}]))
    frame = table_files.read("checks.csv", "checks")
    assert (frame["error"] / frame["bound"]).tolist() == [0.5]
