"""The status of a run, from files: Snakemake's markers, records, logs and the run's list of cases."""

import contextlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.io import IOFile
from snakemake.persistence.file import FilePersistence

from ladder import __main__ as commands
from ladder.planning import status
from ladder.planning.plan import PlannedCase
from ladder.records import record, runs
from ladder.records.case import Case

LEFT = "needs 64 cores, 2 available"
EMPTY = (
    "The log is empty: was the job killed, did it exceed its time limit, or was its record deleted? "
    "`snakemake measurements` measures it again."
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def at_work():
    """A run that lives, for as long as the test."""
    runs.begin()
    yield
    runs.held.pop().close()


def planned(m, left_out=None, machine="here"):
    """A case of so many rows."""
    slug = f"form=nn,m={m},n=1,k=1,dtype=float64,source=random,seed=1,cache=cold,threads=1"
    return PlannedCase("one", Case.parse("gemm", "blas", slug), left_out, machine)


def record_of(one):
    return record.path_of(one.machine, one.case.key)


def log_of(one):
    return status.log_of(one.machine, one.case.key)


def written(path, text="{}", seconds_ago=0):
    """A file with a text or bytes, last changed so long ago; its path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    then = path.stat().st_mtime - seconds_ago
    os.utime(path, (then, then))
    return path


def start(one, number=None):
    """Have Snakemake itself mark a case's job as started, by a scheduler's number if it waits there."""
    FilePersistence(path=Path(".snakemake")).started(SimpleNamespace(output=[IOFile(record_of(one))]), number)


def marker_files():
    return [path for path in Path(".snakemake/incomplete").rglob("*") if path.is_file()]


def begun(*cases, due=None):
    """A run of these cases that has begun, with all of them due by default; the run."""
    return status.write(cases, {record_of(one) for one in (cases if due is None else due)})


def found(run, at_work):
    """The states of a run's cases."""
    return status.states(run["cases"], run["began"], at_work)


def test_every_state_is_told(at_work):
    done, running, waiting, failed, not_begun = map(planned, range(1, 6))
    run = begun(done, running, waiting, failed, not_begun, planned(6, LEFT))
    written(record_of(done))
    start(running)
    written(log_of(running), "warming up")
    start(waiting, "4711")
    written(log_of(failed), "Some words before.\nladder measure: The result is wrong.\n")
    assert found(run, at_work=True) == ["done", "running", "waiting", "failed", "not begun", "skipped"]
    lines = status.report(run["cases"], run).splitlines()
    assert lines[0].endswith("Snakemake is at work.")
    assert [line.split() for line in lines[2:3]] == [["here", "1", "1", "1", "1", "0", "1", "1"]]
    assert lines[3:] == [
        "Failed:",
        f"  {failed.case.key}",
        "    The result is wrong.",
        f"    {log_of(failed)}",
        "Skipped:",
        f"      1  {LEFT}",
    ]


def test_what_was_running_when_snakemake_died_was_cut_off():
    run = begun(planned(1), planned(2))
    start(planned(1))
    start(planned(2), "4711")
    assert not runs.is_at_work()
    assert found(run, at_work=False) == ["cut off", "cut off"]
    report = status.report(run["cases"], run)
    assert "Snakemake is not at work." in report
    assert f"Cut off; the next run measures them again:\n  {planned(1).case.key}\n  {planned(2).case.key}" in report


def test_a_marker_of_an_earlier_run_is_no_running_job():
    start(planned(1))
    start(planned(2))
    for path in marker_files():
        written(path, path.read_text(), seconds_ago=10)
    run = begun(planned(1), planned(2), due=[planned(1)])
    assert found(run, at_work=True) == ["not begun", "cut off"]
    assert found(run, at_work=False) == ["cut off", "cut off"]


def test_old_records_and_logs_count_unless_they_are_to_be_made_anew():
    cases = [planned(m) for m in (1, 2, 3, 4)]
    for one in cases[:2]:
        written(record_of(one), seconds_ago=10)
    for one in cases:
        written(log_of(one), "ladder measure: Wrong.", seconds_ago=10)
    run = begun(*cases, due=[cases[0], cases[2]])
    assert found(run, at_work=True) == ["not begun", "done", "not begun", "failed"]
    written(record_of(cases[0]))
    written(log_of(cases[2]), "ladder measure: Wrong again.")
    assert found(run, at_work=True) == ["done", "done", "failed", "failed"]


def test_a_case_of_two_experiments_is_one_case():
    one = planned(1)
    assert len(begun(one, PlannedCase("two", one.case, None, "here"), planned(2))["cases"]) == 2


def test_machines_are_told_apart_and_together():
    run = begun(planned(1), planned(2, machine="other"), planned(3, LEFT, "other"))
    written(record_of(planned(2, machine="other")))
    rows = [line.split() for line in status.report(run["cases"], run).splitlines()[2:5]]
    assert rows == [
        ["here", "0", "0", "0", "0", "0", "1", "0"],
        ["other", "1", "0", "0", "0", "0", "0", "1"],
        ["all", "1", "0", "0", "0", "0", "1", "1"],
    ]


def test_a_plan_without_cases_is_told():
    assert status.report([]).startswith("Snakemake is not at work.\n")


def test_the_marker_of_a_long_path_is_read():
    one = planned(1, machine="label-" * 30)
    run = begun(one)
    start(one)
    (marker,) = marker_files()
    assert marker.parent.name.startswith("@")
    assert found(run, at_work=True) == ["running"]


def test_a_torn_marker_is_a_job_and_other_files_are_none():
    run = begun(planned(1))
    start(planned(1), "4711")
    (marker,) = marker_files()
    for text in ("", '{"external', b"\xff\xfe", "[]", "null"):
        written(marker, text)
        assert found(run, at_work=True) == ["running"], text
    for name in ("a", "_-8=", "migration_underway", "name with spaces"):
        written(f".snakemake/incomplete/{name}")
    assert found(run, at_work=True) == ["running"]
    assert record_of(planned(1)) in status.markers()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ladder measure: The result is wrong.\n", "The result is wrong."),
        ("Noise.\nladder measure: No such\n  matrix, sorry.\n\n", "No such matrix, sorry."),
        ("Traceback:\n  line 1\nMemoryError\n", "MemoryError"),
        ("", EMPTY),
        (" \n", EMPTY),
        (b"\x80\x81\x1b[31mred\x00\n", "\ufffd\ufffd?[31mred?"),
        ("word " * 1000, ("word " * 79) + "..."),
    ],
)
def test_the_reason_is_one_line(text, reason):
    assert status.reason(written("log", text)) == reason


def test_a_log_that_cannot_be_read_is_told():
    assert status.reason("nowhere") == "The log can't be read: No such file or directory."


def said(capsys, *arguments):
    """The output and the errors of `ladder status`."""
    with contextlib.suppress(SystemExit):
        commands.main(["status", *arguments])
    return capsys.readouterr()


def test_nothing_planned_yet_is_a_sentence(capsys):
    assert said(capsys).err == (
        "ladder status: No run has begun here yet: start one with `snakemake`, or name a --configfile.\n"
    )
    assert not Path(".snakemake").exists()


@pytest.mark.parametrize("text", ["", '{"host": "x", "cas', "[]", b"\xff"])
def test_a_torn_note_of_the_run_is_a_sentence(capsys, text):
    written(".snakemake/ladder-run.json", text)
    out, err = said(capsys)
    assert err.startswith("ladder status: .snakemake/ladder-run.json ")
    assert (err.count("\n"), out) == (1, "")


def test_a_look_changes_nothing(capsys, at_work):
    begun(planned(1), planned(2))
    start(planned(1))
    written(log_of(planned(2)), "ladder measure: Wrong.")
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    assert "Wrong." in said(capsys).out
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before


def test_a_named_configuration_is_planned_anew(capsys):
    one = "{question: '?', workload: gemm, sizes: {m: [1, 2], n: 1, k: 1}, variants: {blas: {threads: [1, 2]}}}"
    written("config/config.yaml", "{cores: 1, machine: here, experiments: {}}")
    written("mine.yaml", f"experiments: {{one: {one}}}")
    written(record_of(planned(1)))
    rows = said(capsys, "--configfile", "mine.yaml").out.splitlines()
    assert rows[2].split() == ["here", "1", "0", "0", "0", "0", "1", "2"]
    assert rows[-1].split(maxsplit=1) == ["2", "needs 2 cores, 1 available"]


def test_the_summary_tells_what_is_new():
    cases = [planned(m) for m in range(1, 16)]
    for one in cases[:2]:
        written(record_of(one), seconds_ago=10)
    run = begun(*cases, planned(20, LEFT), due=cases[1:14])
    written(record_of(cases[1]), '{"wall": 3600}')
    written(record_of(cases[2]), '{"wall": 61.4}')
    for one in cases[3:12]:
        written(log_of(one), f"ladder measure: Wrong m={one.case.sizes['m']}.")
    start(cases[12])
    text = status.summary(run)
    # The 15th was neither due nor done.
    assert "Of 15 cases 2 measured now, 1 before, 9 failed, 2 not begun or cut off, 1 skipped." in text
    assert ", 1:01:01 of it measuring." in text
    assert all(part in text for part in ("Wrong m=4.", "Wrong m=12.", f"      1  {LEFT}"))
    assert text.splitlines()[-1].startswith("ladder: `snakemake` tries them again")


def test_the_summary_names_the_first_and_counts_the_rest():
    run = begun(*map(planned, range(1, 14)))
    for m in range(1, 14):
        written(log_of(planned(m)), f"ladder measure: Wrong m={m}.")
    text = status.summary(run)
    assert "Wrong m=10." in text
    assert "Wrong m=11." not in text
    assert "and 3 more" in text
    assert "Wrong m=13." in status.report(run["cases"], run)


def test_the_summary_of_a_run_that_had_all_is_short():
    run = begun(planned(1))
    written(record_of(planned(1)), '{"wall": 0.4}')
    assert status.summary(run).count("\n") == 1
    assert status.summary(begun(planned(1), due=[])) == ""


def test_a_case_of_two_machines_has_a_state_on_each(at_work):
    """A record, a log and a marker are those of the machine in their path."""
    here, there = (planned(1, machine=name) for name in ("here", "there"))
    run = begun(here, there, planned(2), planned(2, machine="there"))
    written(record_of(there), '{"wall": 5}')
    written(log_of(planned(2)), "ladder measure: Wrong.")
    start(planned(2, machine="there"))
    assert found(run, at_work=True) == ["not begun", "done", "failed", "running"]
    assert "Of 4 cases 1 measured now, 0 before, 1 failed, 2 not begun or cut off" in status.summary(run)
    assert ", 0:00:05 of it measuring." in status.summary(run)
