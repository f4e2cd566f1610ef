"""The status of a run, read from Snakemake's markers, records, logs and the run's list of cases."""

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

REASON = "needs 64 cores, 2 available"
EMPTY_LOG = (
    "The log is empty: was the job killed, did it exceed its time limit, or was its record deleted? "
    "`snakemake measurements` measures it again."
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def live_run():
    """A run that is at work during the test."""
    runs.begin()
    yield
    runs.held_files.pop().close()


def planned_case(m, skipped=None, machine="here"):
    """A planned case with this number of rows."""
    slug = f"form=nn,m={m},n=1,k=1,dtype=float64,source=random,seed=1,cache=cold,threads=1"
    return PlannedCase("one", Case.parse("gemm", "blas", slug), skipped, machine)


def record_path(item):
    return record.path_of(item.machine, item.case.key)


def log_path(item):
    return status.log_of(item.machine, item.case.key)


def write(path, text="{}", seconds_ago=0):
    """Write a text or bytes to a file that was last changed `seconds_ago`; returns its path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    modified = path.stat().st_mtime - seconds_ago
    os.utime(path, (modified, modified))
    return path


def mark_started(item, job_id=None):
    """Have Snakemake mark the job of a case as started; `job_id` is that of the scheduler if the job waits there."""
    FilePersistence(path=Path(".snakemake")).started(SimpleNamespace(output=[IOFile(record_path(item))]), job_id)


def marker_files():
    return [path for path in Path(".snakemake/incomplete").rglob("*") if path.is_file()]


def begin_run(*items, to_measure=None):
    """Begin a run of these cases, which has to measure those in `to_measure`, by default all; returns the run."""
    return status.write(items, {record_path(item) for item in (items if to_measure is None else to_measure)})


def states_of(run, is_running):
    """The states of a run's cases."""
    return status.states(run["cases"], run["began"], is_running)


def table_row(line):
    """A row of a report's table: the machine, and {state: number of cases}."""
    machine, *counts = line.split()
    return machine, dict(zip(status.STATES, map(int, counts), strict=True))


def test_the_report_has_every_state(live_run):
    done, running, waiting, failed, not_begun = map(planned_case, range(1, 6))
    run = begin_run(done, running, waiting, failed, not_begun, planned_case(6, REASON))
    write(record_path(done))
    mark_started(running)
    write(log_path(running), "warming up")
    mark_started(waiting, "4711")
    write(log_path(failed), "Some words before.\nladder measure: The result is wrong.\n")
    assert states_of(run, is_running=True) == ["done", "running", "waiting", "failed", "not begun", "skipped"]
    lines = status.report(run["cases"], run).splitlines()
    assert lines[0].endswith("Snakemake is at work.")
    assert table_row(lines[2]) == ("here", {state: 0 if state == "cut off" else 1 for state in status.STATES})
    assert lines[3:] == [
        "Failed:",
        f"  {failed.case.key}",
        "    The result is wrong.",
        f"    {log_path(failed)}",
        "Skipped:",
        f"      1  {REASON}",
    ]


def test_jobs_that_ran_when_snakemake_died_are_cut_off():
    run = begin_run(planned_case(1), planned_case(2))
    mark_started(planned_case(1))
    mark_started(planned_case(2), "4711")
    assert not runs.may_be_running()
    assert states_of(run, is_running=False) == ["cut off", "cut off"]
    report = status.report(run["cases"], run)
    assert "Snakemake is not at work." in report
    assert (
        f"Cut off; the next run measures them again:\n  {planned_case(1).case.key}\n  {planned_case(2).case.key}"
        in report
    )


def test_a_marker_of_an_earlier_run_is_no_running_job():
    mark_started(planned_case(1))
    mark_started(planned_case(2))
    for path in marker_files():
        write(path, path.read_text(), seconds_ago=10)
    run = begin_run(planned_case(1), planned_case(2), to_measure=[planned_case(1)])
    assert states_of(run, is_running=True) == ["not begun", "cut off"]
    assert states_of(run, is_running=False) == ["cut off", "cut off"]


def test_old_records_and_logs_count_unless_their_case_is_due():
    cases = [planned_case(m) for m in (1, 2, 3, 4)]
    for item in cases[:2]:
        write(record_path(item), seconds_ago=10)
    for item in cases:
        write(log_path(item), "ladder measure: Wrong.", seconds_ago=10)
    run = begin_run(*cases, to_measure=[cases[0], cases[2]])
    assert states_of(run, is_running=True) == ["not begun", "done", "not begun", "failed"]
    write(record_path(cases[0]))
    write(log_path(cases[2]), "ladder measure: Wrong again.")
    assert states_of(run, is_running=True) == ["done", "done", "failed", "failed"]


def test_a_case_of_two_experiments_counts_once():
    item = planned_case(1)
    assert len(begin_run(item, PlannedCase("two", item.case, None, "here"), planned_case(2))["cases"]) == 2


def test_the_table_counts_by_machine_and_in_all():
    run = begin_run(planned_case(1), planned_case(2, machine="other"), planned_case(3, REASON, "other"))
    write(record_path(planned_case(2, machine="other")))
    rows = dict(table_row(line) for line in status.report(run["cases"], run).splitlines()[2:5])
    none = dict.fromkeys(status.STATES, 0)
    assert rows == {
        "here": none | {"not begun": 1},
        "other": none | {"done": 1, "skipped": 1},
        "all": none | {"done": 1, "not begun": 1, "skipped": 1},
    }


def test_a_plan_without_cases_has_a_report():
    assert status.report([]).startswith("Snakemake is not at work.\n")


def test_the_marker_of_a_long_path_is_read():
    item = planned_case(1, machine="label-" * 30)
    run = begin_run(item)
    mark_started(item)
    (marker,) = marker_files()
    assert marker.parent.name.startswith("@")
    assert states_of(run, is_running=True) == ["running"]


def test_a_truncated_marker_is_a_job_and_other_files_are_not():
    run = begin_run(planned_case(1))
    mark_started(planned_case(1), "4711")
    (marker,) = marker_files()
    for text in ("", '{"external', b"\xff\xfe", "[]", "null"):
        write(marker, text)
        assert states_of(run, is_running=True) == ["running"], text
    for name in ("a", "_-8=", "migration_underway", "name with spaces"):
        write(f".snakemake/incomplete/{name}")
    assert states_of(run, is_running=True) == ["running"]
    assert record_path(planned_case(1)) in status.markers()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ladder measure: The result is wrong.\n", "The result is wrong."),
        ("Noise.\nladder measure: No such\n  matrix, sorry.\n\n", "No such matrix, sorry."),
        ("Traceback:\n  line 1\nMemoryError\n", "MemoryError"),
        ("", EMPTY_LOG),
        (" \n", EMPTY_LOG),
        (b"\x80\x81\x1b[31mred\x00\n", "\ufffd\ufffd?[31mred?"),
        ("word " * 1000, ("word " * 79) + "..."),
    ],
)
def test_the_reason_is_one_line(text, reason):
    assert status.reason(write("log", text)) == reason


def test_the_reason_names_a_log_that_cannot_be_read():
    assert status.reason("nowhere") == "The log can't be read: No such file or directory."


def run_status(capsys, *arguments):
    """Run `ladder status`; returns its output and errors."""
    with contextlib.suppress(SystemExit):
        commands.main(["status", *arguments])
    return capsys.readouterr()


def test_status_without_a_run_is_an_error(capsys):
    assert run_status(capsys).err == (
        "ladder status: No run has begun here yet: start one with `snakemake`, or name a --configfile.\n"
    )
    assert not Path(".snakemake").exists()


@pytest.mark.parametrize("text", ["", '{"host": "x", "cas', "[]", b"\xff"])
def test_a_truncated_file_of_the_run_is_an_error(capsys, text):
    write(".snakemake/ladder-run.json", text)
    out, err = run_status(capsys)
    assert err.startswith("ladder status: .snakemake/ladder-run.json ")
    assert (err.count("\n"), out) == (1, "")


def test_status_changes_no_files(capsys, live_run):
    begin_run(planned_case(1), planned_case(2))
    mark_started(planned_case(1))
    write(log_path(planned_case(2)), "ladder measure: Wrong.")
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    assert "Wrong." in run_status(capsys).out
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before


def test_a_configuration_on_the_command_line_is_planned(capsys):
    experiment = "{question: '?', workload: gemm, sizes: {m: [1, 2], n: 1, k: 1}, variants: {blas: {threads: [1, 2]}}}"
    write("config/config.yaml", "{cores: 1, machine: here, experiments: {}}")
    write("mine.yaml", f"experiments: {{one: {experiment}}}")
    write(record_path(planned_case(1)))
    rows = run_status(capsys, "--configfile", "mine.yaml").out.splitlines()
    none = dict.fromkeys(status.STATES, 0)
    assert table_row(rows[2]) == ("here", none | {"done": 1, "not begun": 1, "skipped": 2})
    assert rows[-1].split(maxsplit=1) == ["2", "needs 2 cores, 1 available"]
    write("two.yaml", "cores: 2")
    for words in (["mine.yaml", "two.yaml"], ["mine.yaml", "--configfile", "two.yaml"]):
        rows = run_status(capsys, "--configfile", *words).out.splitlines()
        assert table_row(rows[2]) == ("here", none | {"done": 1, "not begun": 3})


def test_the_summary_counts_new_results():
    cases = [planned_case(m) for m in range(1, 16)]
    for item in cases[:2]:
        write(record_path(item), seconds_ago=10)
    run = begin_run(*cases, planned_case(20, REASON), to_measure=cases[1:14])
    write(record_path(cases[1]), '{"wall": 3600}')
    write(record_path(cases[2]), '{"wall": 61.4}')
    for item in cases[3:12]:
        write(log_path(item), f"ladder measure: Wrong m={item.case.sizes['m']}.")
    mark_started(cases[12])
    text = status.summary(run)
    # The 15th case was neither due nor done.
    assert (
        "Of 15 cases, 2 were measured now and 1 before; 9 failed, 2 were not begun or cut off, 1 was skipped." in text
    )
    assert ", 1:01:01 of it measuring." in text
    assert all(part in text for part in ("Wrong m=4.", "Wrong m=12.", f"      1  {REASON}"))
    assert text.splitlines()[-1].startswith("ladder: `snakemake` tries them again")


def test_the_summary_lists_the_first_failures_and_counts_the_rest():
    run = begin_run(*map(planned_case, range(1, 14)))
    for m in range(1, 14):
        write(log_path(planned_case(m)), f"ladder measure: Wrong m={m}.")
    text = status.summary(run)
    assert "Wrong m=10." in text
    assert "Wrong m=11." not in text
    assert "and 3 more" in text
    assert "Wrong m=13." in status.report(run["cases"], run)


def test_the_summary_of_a_complete_run_is_short():
    run = begin_run(planned_case(1))
    write(record_path(planned_case(1)), '{"wall": 0.4}')
    assert status.summary(run).count("\n") == 1
    assert status.summary(begin_run(planned_case(1), to_measure=[])) == ""


def test_a_case_on_two_machines_has_two_states(live_run):
    """A record, a log and a marker belong to the machine in their path."""
    here, there = (planned_case(1, machine=name) for name in ("here", "there"))
    run = begin_run(here, there, planned_case(2), planned_case(2, machine="there"))
    write(record_path(there), '{"wall": 5}')
    write(log_path(planned_case(2)), "ladder measure: Wrong.")
    mark_started(planned_case(2, machine="there"))
    assert states_of(run, is_running=True) == ["not begun", "done", "failed", "running"]
    assert "Of 4 cases, 1 was measured now and 0 before; 1 failed, 2 were not begun or cut off" in status.summary(run)
    assert ", 0:00:05 of it measuring." in status.summary(run)
