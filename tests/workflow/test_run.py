"""The actions of a run before its first job and after its last one, with a stand-in for Snakemake's workflow."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.ioflags import update
from snakemake.persistence import PersistenceBase

from ladder.errors import LadderError
from ladder.planning import slurm, status
from ladder.records import runs
from ladder.workflow import interruption, run
from ladder.workflow.mistakes import end_run_on_mistake
from small_plans import CLUSTER, experiment, job_wildcards, read_plan, snakemake_workflow

BLAS = {"one": experiment({"blas": {"threads": [1, 2]}})}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """A working directory in which Snakemake has run."""
    monkeypatch.chdir(tmp_path)
    Path(".snakemake").mkdir()


def job(output, rule="other", inputs=(), wildcards=None):
    """A job that is to run."""
    return SimpleNamespace(
        rule=SimpleNamespace(name=rule), input=inputs, output=[output], log=["results/log"], wildcards=wildcards
    )


def run_of(study, *jobs, **changes):
    """The Run of a study with these jobs."""
    return run.Run(study, snakemake_workflow(dag=SimpleNamespace(needrun_jobs=lambda: list(jobs)), **changes))


def measuring_jobs(study):
    """The jobs that measure the cases of a study."""
    return [
        job(path, "measure", wildcards=job_wildcards(item.case))
        for item, path in zip(study.cases, sorted(study.records(study.experiments)), strict=True)
    ]


def test_a_run_writes_what_it_is_to_measure_and_ends_with_a_summary(capsys):
    study = read_plan(BLAS)
    first, _ = measuring_jobs(study)
    new_run = run_of(study, first, job("results/table.csv"))
    new_run.start()
    assert [case["key"] for case in status.read()["cases"] if case["due"]] == [study.cases[0].case.key]
    new_run.end()
    assert "Of 1 case, 0 were measured now and 0 before; 0 failed, 1 was not begun" in capsys.readouterr().err


@pytest.mark.parametrize("changes", [{"measure": False}, {"touch": True}])
def test_a_run_that_measures_nothing_writes_and_prints_nothing(capsys, changes):
    study = read_plan(BLAS, **{name: value for name, value in changes.items() if name == "measure"})
    new_run = run_of(study, touch=changes.get("touch", False))
    new_run.start()
    new_run.end()
    assert not Path(".snakemake", status.RUN_FILE).exists()
    assert capsys.readouterr().err == ""


def test_results_that_cannot_be_written_end_the_run_before_its_first_job(monkeypatch):
    def refuse(paths):
        raise LadderError(f"{paths[0]} can't be written.")

    monkeypatch.setattr(run, "require_writable_folders", refuse)
    with pytest.raises(SystemExit, match=r"^ladder: results/table.csv can't be written.$"):
        run_of(read_plan({}), job("results/table.csv")).start()
    run_of(read_plan({}), job("results/table.csv"), touch=True).start()


def test_cases_of_this_machine_are_not_submitted_to_a_cluster():
    study = read_plan(BLAS)
    with pytest.raises(SystemExit, match=r"for a cluster, add `on_cluster=1` to `--default-resources`"):
        run_of(study, *measuring_jobs(study), local_exec=False).start()
    run_of(study, job("results/table.csv"), local_exec=False).start()


def test_before_jobs_are_submitted_their_nodes_are_tried_and_stray_jobs_cancelled(monkeypatch, capsys):
    checks = []
    monkeypatch.setattr(slurm, "require_plain_path", lambda: checks.append("plain"))
    monkeypatch.setattr(slurm, "require_accepted", lambda site, path, kinds: checks.append((str(path), kinds)))
    monkeypatch.setattr(slurm, "require_packages", lambda cases: checks.append(len(cases)))
    monkeypatch.setattr(slurm, "cancel_stray_jobs", lambda: ["7", "8"])
    study = read_plan({"one": experiment({"mpi": {"ranks": 2, "mode": "ship"}}, "gemv", {"n": 7, "m": 5})}, CLUSTER)
    run_of(study, *measuring_jobs(study), executor_plugin=SimpleNamespace(name="slurm")).start()
    assert checks == ["plain", 1, ("site.yaml", ["mpi"])]  # 1: the number of cases
    assert capsys.readouterr().err == "ladder: cancelled the Slurm jobs of an earlier run: 7, 8.\n"


def test_a_record_that_a_cancelled_job_deletes_ends_the_run_before_it_counts_as_measured(monkeypatch):
    for name in ("require_plain_path", "require_accepted", "require_packages"):
        monkeypatch.setattr(slurm, name, lambda *arguments: None)
    two_cases = experiment({"mpi": {"ranks": [1, 2], "mode": "ship"}}, "gemv", {"n": 7, "m": 5})
    study = read_plan({"one": two_cases}, CLUSTER)
    planned_job, other_job = measuring_jobs(study)
    record = Path(other_job.output[0])
    record.parent.mkdir(parents=True)
    record.touch()
    monkeypatch.setattr(slurm, "cancel_stray_jobs", lambda: record.unlink() or ["7"])
    with pytest.raises(SystemExit, match=re.escape(f"which was cancelled, has deleted {record}: start again")):
        run_of(study, planned_job, executor_plugin=SimpleNamespace(name="slurm")).start()


def test_only_slurms_executor_asks_slurm(monkeypatch, tmp_path):
    study = read_plan({"one": experiment({"blas": {"threads": 2}})}, CLUSTER)
    monkeypatch.setenv("PATH", str(tmp_path))  # only now: importing Slurm's executor calls `which`
    with pytest.raises(SystemExit, match="There is no `sbatch` here"):
        run_of(study, *measuring_jobs(study), executor_plugin=SimpleNamespace(name="slurm"), local_exec=False).start()
    run_of(study, *measuring_jobs(study), executor_plugin=SimpleNamespace(name="lsf"), local_exec=False).start()


def test_job_arrays_are_refused():
    study = read_plan({"one": experiment({"blas": {"threads": 2}})}, CLUSTER)
    options = {"executor_plugin": SimpleNamespace(name="slurm"), "local_exec": False}
    with pytest.raises(SystemExit, match=r"Job arrays can't be used: .* Start again without `--slurm-array-jobs`"):
        run_of(study, *measuring_jobs(study), executor_settings=SimpleNamespace(array_jobs="all"), **options).start()


def test_what_a_failed_job_restored_is_older_than_its_inputs_and_so_rebuilt():
    for path, seconds in (("input", 1000), ("newer", 2000), ("figure.pdf", 3000), ("record.json", 3000)):
        Path(path).touch()
        os.utime(path, (seconds, seconds))
    forgotten = []
    persistence = SimpleNamespace(cleanup_metadata=forgotten.append)
    jobs = [job(update("figure.pdf"), inputs=["newer", "input", "missing"]), job("record.json", inputs=["input"])]
    jobs += [job(update("missing.pdf"), inputs=["input"]), job(update("figure.png"))]
    run_of(read_plan({}), *jobs, persistence=persistence).fail()
    assert forgotten == ["figure.pdf"]
    assert Path("figure.pdf").stat().st_mtime == 999  # older than the oldest input
    assert Path("record.json").stat().st_mtime == 3000


@pytest.fixture
def replaceable_lock(monkeypatch):
    """A lock of Snakemake that `replace_lock` may replace; the test holds it, and it is released at the end."""
    monkeypatch.setattr(PersistenceBase, "lock", lambda self: contextlib.nullcontext())
    yield
    runs.held_files.pop().close()


@pytest.mark.parametrize(("is_on_cluster", "limit"), [(True, "100/1s"), (False, None)])
def test_a_run_holds_its_own_lock_and_on_this_machine_starts_jobs_without_delay(replaceable_lock, is_on_cluster, limit):
    workflow = snakemake_workflow()
    run.replace_lock(workflow, is_on_cluster)
    with PersistenceBase.lock(None):
        assert Path(".snakemake", runs.LOCK_NAME).exists()
        assert workflow.scheduling_settings.max_jobs_per_timespan == limit


def test_a_killed_runs_locks_and_torn_metadata_are_removed():
    for path in (".snakemake/locks/0.input.lock", ".snakemake/metadata/torn"):
        Path(path).parent.mkdir(parents=True)
        Path(path).write_text("{", encoding="utf-8")
    runs.begin()
    runs.held_files.pop().close()  # as at the end of the run's process
    run.tidy_up()
    assert not list(Path(".snakemake").glob("*/*"))


# A program that interrupts itself by SIGINT, as Ctrl-C does.
PROGRAM = """
import os, signal, sys
from ladder.workflow import interruption

if sys.argv[1] == "ignored":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
interruption.handle()
if sys.argv[1] == "left to Snakemake":
    interruption.leave_to_snakemake()
os.kill(os.getpid(), signal.SIGINT)
print("goes on")
"""


@pytest.mark.parametrize(
    ("handling", "code", "text"),
    [
        ("handled", 130, "ladder: Interrupted while planning: no job was started.\n"),
        ("ignored", 0, "goes on\n"),
        ("left to Snakemake", -signal.SIGINT, "KeyboardInterrupt"),
    ],
)
def test_ctrl_c_ends_with_a_sentence_until_snakemake_has_jobs(handling, code, text):
    process = subprocess.run([sys.executable, "-c", PROGRAM, handling], capture_output=True, text=True, check=False)
    assert process.returncode == code
    assert text in process.stdout + process.stderr


def test_another_handler_stays():
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        interruption.handle()
        interruption.leave_to_snakemake()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_file_that_cannot_be_read_ends_the_run_and_a_defect_does_not():
    with (
        pytest.raises(SystemExit, match=r"^ladder: nowhere can't be read: No such file or directory.$"),
        end_run_on_mistake(),
    ):
        Path("nowhere").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match=r"^ladder: nowhere is full: "), end_run_on_mistake("is full"):
        Path("nowhere").read_text(encoding="utf-8")
    with pytest.raises(KeyError), end_run_on_mistake():
        {}["nowhere"]


@pytest.mark.parametrize(("only", "count"), [(["one"], 1), (["one", "ceiling_memory"], 2), ([], 2)])
def test_with_only_the_summary_omits_skipped_ceilings_that_nobody_asked_for(only, count):
    ceilings = {"ceiling_memory": experiment({"openmp": {"threads": 64}}, "stream", {"elements": 10})}
    study = read_plan({"one": experiment({"blas": {"threads": 1}}), **ceilings}, only=only)
    assert len(study.cases) == 2
    run_of(study).start()
    assert len(status.read()["cases"]) == count
