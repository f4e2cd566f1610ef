"""The workflow: the jobs planned after a change, and the state after a failure or a kill."""

import json
import random
import shutil
import subprocess
import time

import psutil
import pytest

from conftest import Study
from ladder.planning.status import markers
from ladder.records import documents, record

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]
# The harness' own tests try all variants that are wrong on purpose.
WRONG_VARIANTS = {
    "wrong_nan": "are NaN",
    "wrong_last_tile": "The result is wrong",
    "wrong_crash": "The variant stopped with ValueError: no such matrix",
    "wrong_killed": "was killed by signal 9",
}
SMALL = {"form": "nn", "m": 17, "n": 5, "k": 9}


def add_two_variants(study):
    """Add two experiments with the same case, one of them with another variant too, and two ceiling experiments."""
    study.add("both", {"blas": {"threads": 1}, "slower_blas": {"percent": 5, "threads": 1}})
    study.add("one", {"blas": {"threads": 1}})
    for m in (33, 34):
        study.add(f"ceiling_{m}", {"blas": {"threads": 1}}, sizes={"form": "nn", "m": m, "n": 33, "k": 33})
    return study


def measured_variants(files):
    """The variants of the records among files, without those of the ceilings."""
    parts = [path.split("/") for path in files if path.startswith("results/records/")]
    return sorted(variant for *_, variant, case in parts if "+m=17+" in case)


@pytest.fixture(scope="module")
def finished_original(tmp_path_factory):
    """The study of `add_two_variants` after its run, and the output of the run; tests don't change this study."""
    study = add_two_variants(Study(tmp_path_factory.mktemp("finished")))
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    return study, out


@pytest.fixture
def finished_study(finished_original, tmp_path):
    """A copy of that study, which a test may change, with the same dates of files, which Snakemake compares."""
    return finished_original[0].copy(tmp_path)


@pytest.mark.slow
def test_results_may_lie_in_another_directory(tmp_path):
    study = Study(tmp_path).add("small", {"blas": {"threads": 1}}, sizes=SMALL)
    study.config["variant_folders"] = []
    out, status = study.snakemake("--dry-run", "--directory", str(tmp_path / "elsewhere"))
    assert status == 0, out
    assert "results/report.zip" in out
    assert "results/ro-crate-metadata.json" in out


@pytest.mark.slow
def test_the_metadata_of_a_build_describe_its_run(tmp_path):
    """Only the rules of the metadata run, on files made up."""
    study = Study(tmp_path).add("small", {"blas": {"threads": 1}}, sizes=SMALL)
    for name in ("paper.pdf", "supplement.pdf", "report.zip", "validation.html", "tables/verdicts.csv"):
        path = study.folder / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("made up", encoding="utf-8")
    out, status = study.snakemake("results/ro-crate-metadata.json", "--allowed-rules", "crate", "configuration")
    assert status == 0, out
    graph = json.loads((study.folder / "results/ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    (action,) = (entity for entity in graph if entity["@type"] == "CreateAction")
    assert action["startTime"] <= action["endTime"]
    assert {"@id": "paper.pdf"} in action["result"]
    assert (study.folder / "results/workflow/Snakefile").exists()


@pytest.mark.slow
def test_a_case_of_two_experiments_is_measured_once(finished_original):
    study, out = finished_original
    assert len(study.records()) == 6  # two variants at two sizes, and two ceilings
    assert "Of 6 cases, 6 were measured now and 0 before; 0 failed, 0 were not begun or cut off, 0 were skipped." in out


def edit_beside_measurements(package):
    """Change code that no measurement on the host reaches, and rename a module of the harness."""
    for name, old, new in (
        ("workloads/gemm/launch.py", "BLOCK_OVERHEAD = 64", "BLOCK_OVERHEAD = 65"),
        ("statistics/verdicts.py", "def compare(", "def compare(unused=0, *"),
    ):
        text = (package / name).read_text()
        assert old in text
        (package / name).write_text(text.replace(old, new))
    (package / "harness/steps.py").rename(package / "harness/parts.py")
    for path in package.rglob("*.py"):
        path.write_text(path.read_text().replace("ladder.harness.steps", "ladder.harness.parts"))


@pytest.mark.slow
def test_an_edit_reruns_what_it_can_change_and_nothing_else(finished_study):
    blas = finished_study.folder / "src/ladder/workloads/gemm/blas.py"
    text = blas.read_text()

    blas.write_text(text.replace('DEVICE = "host"', '# A comment changes no measurement.\nDEVICE = "host"'))
    edit_beside_measurements(finished_study.folder / "src/ladder")
    assert finished_study.pending_files("results/table.csv") == set()

    assert "1.0" in text
    blas.write_text(text.replace("1.0", "2.0 / 2"))
    pending = finished_study.pending_files("results/table.csv")
    assert measured_variants(pending) == ["blas", "blas", "slower_blas", "slower_blas"]  # slower_blas imports blas
    expected = {f"results/tables/{name}/samples.csv" for name in ("both", "one")}
    assert expected | {"results/table.csv"} <= pending


@pytest.mark.slow
def test_what_changes_while_the_ceilings_are_old_too_is_measured_again(finished_study):
    """If ceilings are measured again too, Snakemake doesn't compare the parameters of jobs behind them."""
    worker = finished_study.folder / "src/ladder/harness/worker.py"
    text = worker.read_text()
    worker.write_text(text + "UNUSED = 1\n")
    assert sum(path.startswith("results/records/") for path in finished_study.pending_files("results/table.csv")) == 6
    worker.write_text(text)
    finished_study.config["protocol"] = finished_study.config["protocol"] | {"samples": 3}
    assert sum(path.startswith("results/records/") for path in finished_study.pending_files("results/table.csv")) == 6


@pytest.mark.slow
def test_a_changed_protocol_measures_everything_again(finished_study):
    for m in (33, 34):
        del finished_study.config["experiments"][f"ceiling_{m}"]
    finished_study.config["protocol"] = finished_study.config["protocol"] | {"samples": 3}
    assert measured_variants(finished_study.pending_files("results/table.csv")) == [
        "blas",
        "blas",
        "slower_blas",
        "slower_blas",
    ]


@pytest.mark.slow
def test_the_protocol_of_an_experiment_measures_its_cases_alone_again(finished_study):
    finished_study.config["experiments"]["ceiling_34"]["protocol"] = {"samples": 3}
    (record_path,) = (
        path for path in finished_study.pending_files("results/table.csv") if path.startswith("results/records/")
    )
    assert "m=34+" in record_path
    out, status = finished_study.snakemake("--dry-run", "--printshellcmds", record_path)
    assert status == 0, out
    assert [line for line in out.splitlines() if "--protocol" in line and '"samples": 3' in line]
    out, status = finished_study.snakemake("--dry-run", record_path.replace("+m=34+", "+m=35+"))
    assert status != 0
    assert ",m=35,n=33,k=33,dtype=float64,source=random,seed=1,cache=warm,threads=1 is not a case of this config" in out
    assert "Traceback" not in out


@pytest.mark.slow
def test_all_cases_but_the_ceilings_own_are_compared_with_the_ceilings(finished_study):
    finished_study.config["protocol"] = finished_study.config["protocol"] | {"samples": 3}
    out, status = finished_study.snakemake("--dry-run", "--printshellcmds", "results/table.csv")
    assert status == 0, out
    commands = [line for line in out.splitlines() if "-m ladder measure" in line]
    with_ceilings = [line for line in commands if "--ceilings=results/ceilings/here.json" in line]
    assert len(commands) == 6
    assert with_ceilings == [line for line in commands if "m=17," in line]


@pytest.mark.slow
def test_other_ceilings_hide_nothing_that_is_missing(finished_study):
    """If only the ceilings are rebuilt, Snakemake overlooks jobs that have them as `ancient` inputs."""
    ceiling_33 = finished_study.config["experiments"].pop("ceiling_33")
    finished_study.add("more", {"slower_blas": {"percent": 1, "threads": 1}})
    out, status = finished_study.snakemake("results/table.csv")
    assert status == 0, out
    assert "Of 7 cases, 2 were measured now and 5 before" in out
    finished_study.config["experiments"]["ceiling_33"] = ceiling_33
    out, status = finished_study.snakemake("publish")
    assert status == 0, out
    assert "(Rule: publish)" in out


@pytest.mark.slow
def test_configurations_of_other_sizes_and_protocols_keep_their_records(finished_study):
    configuration = finished_study.config
    small = {"question": "?", "workload": "gemm", "sizes": {"form": "nn", "m": 3, "n": 3, "k": 3}}
    small["variants"] = {"blas": {"threads": 1}}
    shipped = {name: experiment for name, experiment in configuration["experiments"].items() if experiment is None}
    finished_study.config = configuration | {
        "protocol": configuration["protocol"] | {"samples": 3},
        "experiments": shipped | {"small": small},
    }
    out, status = finished_study.snakemake("results/table.csv")
    assert status == 0, out
    finished_study.config = configuration
    assert not any(path.startswith("results/records/") for path in finished_study.pending_files("results/table.csv"))


@pytest.mark.slow
def test_another_variant_and_an_edit_of_one_run_just_their_cases(finished_study):
    slower = finished_study.folder / "tests/variants/gemm/slower_blas.py"
    slower.write_text(slower.read_text().replace("100 + percent", "100 + 2 * percent"))
    shutil.copy(finished_study.folder / "src/ladder/workloads/gemm/blas.py", slower.with_name("mine.py"))
    finished_study.config["experiments"]["both"]["variants"]["mine"] = {"threads": 1}
    pending = finished_study.pending_files("results/table.csv")
    assert measured_variants(pending) == ["mine", "mine", "slower_blas", "slower_blas"]
    assert "results/tables/both/samples.csv" in pending
    assert "results/tables/one/samples.csv" not in pending


@pytest.mark.slow
def test_a_plan_longer_than_a_command_is_written_by_a_run_and_again_only_with_other_contents(study):
    target, path = "results/plans/large.json", study.folder / "results/plans/large.json"
    study.add("large", {"blas": {"threads": [1, 2]}}, sizes={"form": "nn", "m": 1, "n": 1, "k": list(range(1, 501))})
    assert study.pending_files(target) == {target}
    assert not path.exists()
    out, status = study.snakemake(target)
    assert status == 0, out
    assert len(documents.read(path, "plan")["cases"]) == 1000
    assert path.stat().st_size > 2**17  # the limit of a command's argument
    (study.folder / "workflow/templates/plan.json").touch()  # as in a fresh clone, without Snakemake's checksums
    metadata = study.folder / ".snakemake/metadata"
    metadata.rename(study.folder / "metadata")
    study.add("other", {"blas": {"threads": 1}})
    assert study.pending_files(target) == set()
    shutil.rmtree(metadata, ignore_errors=True)
    (study.folder / "metadata").rename(metadata)
    study.config["experiments"]["large"]["sizes"]["k"].pop()
    out, status = study.snakemake(target)
    assert status == 0, out
    assert len(documents.read(path, "plan")["cases"]) == 998


@pytest.mark.slow
def test_an_edit_of_a_figure_redraws_that_figure_alone(study):
    study.add_training()
    targets = [f"results/figures/{name}.svg" for name in ("mlp_learning", "mlp_sample_digits")]
    out, status = study.snakemake(*targets)
    assert status == 0, out
    (module,) = study.folder.glob("src/**/mlp/paper/learning.py")
    module.write_text(module.read_text() + "\nEDITED = True\n")
    pending = study.pending_files(*targets)
    assert {path.rsplit(".", 1)[0] for path in pending} == {"results/figures/mlp_learning"}


@pytest.mark.slow
def test_a_record_of_changed_code_is_not_collected(finished_study):
    path = next(iter(finished_study.records().values()))
    document = record.read(path)
    document["sources"] = "0" * 16
    record.write(path, document)
    tables = {table: table.read_bytes() for table in (finished_study.folder / "results/tables").rglob("*.csv")}
    out, status = finished_study.snakemake("results/table.csv")
    assert status != 0
    assert "was measured with code that has changed since" in " ".join(out.split())
    assert all(table.read_bytes() == content for table, content in tables.items())  # and Snakemake removes none
    assert "results/table.csv" in finished_study.pending_files("results/table.csv")


@pytest.mark.slow
def test_a_record_that_was_deleted_is_measured_again_where_measurements_are_asked_for(finished_study):
    path = next(iter(finished_study.records().values()))
    path.unlink()
    assert str(path.relative_to(finished_study.folder)) in finished_study.pending_files("measurements")


@pytest.mark.slow
def test_records_stay_without_ceilings_once_snakemake_has_forgotten_how_they_were_made(finished_study):
    for m in (33, 34):
        del finished_study.config["experiments"][f"ceiling_{m}"]
    records = [str(path.relative_to(finished_study.folder)) for path in finished_study.records().values()]
    out, status = finished_study.snakemake("--cleanup-metadata", *records)
    assert status == 0, out
    assert measured_variants(finished_study.pending_files("results/table.csv")) == []
    finished_study.config["protocol"] = finished_study.config["protocol"] | {"samples": 3}
    assert measured_variants(finished_study.pending_files("results/table.csv")) == [
        "blas",
        "blas",
        "slower_blas",
        "slower_blas",
    ]


def compiled_counts(study):
    """The distinct numbers of functions that Numba compiled in the processes that measured."""
    return {process["compiled"] for path in study.records().values() for process in record.read(path)["processes"]}


@pytest.mark.slow
def test_numba_compiles_ahead_once_per_dtype_and_never_in_a_measurement(study):
    sizes = {"form": "nn", "m": 17, "n": 5, "k": [9]}
    study.add("loops", {"openmp": {"threads": [1, 2]}, "blas": {"threads": 1}}, sizes=sizes)
    study.add("types", {"openmp": {"threads": 1}}, sizes=sizes | {"dtype": "float32"})
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    assert out.count("rule precompile:") == 2
    assert len(study.records()) == 4
    assert compiled_counts(study) == {0}
    del study.config["experiments"]["types"]

    # If compiled code was deleted, or its source has a new comment, no record is old, and measuring compiles nothing.
    openmp = study.folder / "src/ladder/workloads/gemm/openmp.py"
    text = openmp.read_text()
    for change in (
        lambda: shutil.rmtree(study.folder / "results/cache"),
        lambda: openmp.write_text(text.replace("\nDEVICE", "\n# A comment changes no measurement.\nDEVICE")),
    ):
        change()
        before = 3 * len(sizes["k"])
        sizes["k"].append(sizes["k"][-1] + 1)
        out, status = study.snakemake("results/table.csv")
        assert status == 0, out
        assert f"Of {before + 3} cases, 3 were measured now and {before} before" in out
        assert "rule precompile:" not in out
        assert compiled_counts(study) == {0}

    # Other code is compiled ahead again.
    openmp.write_text(text.replace("total = a.dtype.type(0)", "total = 0 * a.dtype.type(0)"))
    pending = study.pending_files("results/table.csv")
    assert measured_variants(pending) == ["openmp"] * 6
    assert sum(path.startswith("results/compiled/") for path in pending) == 1


@pytest.mark.slow
def test_failed_and_skipped_cases_are_named_and_cost_no_other_its_result(study):
    study.add("wrong", {"blas": {"threads": 1}} | {name: {"threads": 1} for name in WRONG_VARIANTS}, sizes=SMALL)
    study.add("threads", {"blas": {"threads": [1, 2, 64]}}, sizes=SMALL)
    out, status = study.snakemake("results/table.csv", "--logger", "rich", "--cores", "1")
    assert status != 0
    assert [key.split("/")[1] for key in study.records()] == ["blas"]
    flat = " ".join(out.split())
    count = len(WRONG_VARIANTS)
    assert f"Of {count + 3} cases, 1 was measured now and 0 before; {count} failed, 0 were not begun" in flat
    assert "0 were not begun or cut off, 2 were skipped" in flat
    assert "1 needs 64 cores, 1 available" in flat
    assert "`snakemake --config measure=false` writes the paper without" in flat
    for name, sentence in WRONG_VARIANTS.items():
        (log,) = (study.folder / "results/logs/measure/here/gemm" / name).glob("*.log")
        assert sentence in log.read_text(), (name, log.read_text())
        assert f"gemm/{name}/" in flat
        assert sentence in flat.rpartition("Failed:")[2]
    # The table is made without them when asked for, and says so.
    study.config["measure"] = False
    out, status = study.snakemake("results/table.csv", "--cores", "1")
    assert status == 0, out
    assert "measured now" not in out
    assert (study.folder / "results/tables/wrong/missing.csv").read_text().count("not measured") == len(WRONG_VARIANTS)
    missing = (study.folder / "results/tables/threads/missing.csv").read_text()
    assert "needs 2 cores, 1 available" in missing
    assert "needs 64 cores, 1 available" in missing


def test_a_bad_configuration_is_one_sentence(study):
    study.add("typo", {"blas": {"threads": 1}})
    study.config["experiments"]["typo"]["colour"] = "red"
    out, status = study.snakemake("-n")
    assert status != 0
    assert "The configuration is wrong at experiments.typo" in out
    assert "Traceback" not in out


@pytest.mark.slow
def test_ctrl_c_while_planning_is_one_sentence(study):
    with (study.folder / "src/ladder/harness/sensitivity.py").open("a", encoding="utf-8") as module:
        module.write("\nimport os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    out, status = study.snakemake("-n")
    assert status == 130
    assert "ladder: Interrupted while planning: no job was started." in out
    assert "Traceback" not in out


@pytest.mark.slow
def test_an_impossible_target_is_one_sentence(study):
    out, status = study.snakemake("-n", "results/references/mlp/images.npz")
    assert status != 0
    assert "isn't of the form key=value" in out
    assert "Traceback" not in out


@pytest.mark.slow
def test_a_folder_that_snakemake_cannot_work_in_is_one_sentence(tmp_path):
    out, status = Study(tmp_path, "in {braces}").snakemake("-n")
    assert status != 0
    assert "has a brace in its name" in out
    assert "Traceback" not in out


@pytest.mark.slow
def test_kills_neither_lose_nor_duplicate_a_record(study):
    """SIGKILL at random moments: finished records stay as they are, and the last run completes the study."""
    study.add("kill", {"blas": {"threads": 1}}, sizes={"m": 17, "n": 5, "k": list(range(1, 13))})
    rng = random.Random(1)
    line, environment = study.command("results/table.csv")
    start_times = {}
    for while_measuring in [False, True] * 3:
        before = len(study.records())
        run = subprocess.Popen(
            line, cwd=study.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while while_measuring and len(study.records()) <= before and run.poll() is None:
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 1.5) if while_measuring else rng.uniform(1.5, 6.0))
        run.kill()
        run.wait()
        time.sleep(0.3)  # until the jobs of the killed run have ended, too
        # What Snakemake had not yet noted as done when it was killed is measured again, its record too.
        cut_off = markers(study.folder / ".snakemake")
        for key, path in study.records().items():
            document = record.read(path)  # whole and sound
            if str(path.relative_to(study.folder)) not in cut_off:
                assert start_times.setdefault(key, document["started"]) == document["started"]
        assert all_processes_end(study.folder)
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    records = study.records()
    assert len(records) == 12
    assert start_times
    for key, started in start_times.items():
        assert record.read(records[key])["started"] == started
    table = (study.folder / "results/table.csv").read_text()
    for path in records.values():
        samples = sum(len(process["samples"]) for process in record.read(path)["processes"])
        assert table.count(f'"{record.restore_commas(path.stem)}"') == samples


# The function of a verb, replaced by one that reports its start and waits for a program, as for a compiler.
WAITING_VERB = """

def run(options):
    from pathlib import Path

    from ladder.machine import processes

    Path("begun").touch()
    processes.run(["sleep", "300"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("data", "results/data/digits/train-images-idx3-ubyte"),
        ("sensitivity", "results/sensitivity.csv"),
        pytest.param("collect", "results/tables/one/samples.csv", marks=pytest.mark.exhaustive),
        pytest.param("publish", "publish", marks=pytest.mark.exhaustive),
    ],
)
def test_every_verb_dies_with_its_run_and_so_does_what_it_started(finished_study, verb, target):
    with (finished_study.folder / f"src/ladder/verbs/{verb}.py").open("a", encoding="utf-8") as module:
        module.write(WAITING_VERB)
    line, environment = finished_study.command(target, "--force", "--rerun-triggers", "mtime")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen(line, cwd=finished_study.folder, env=environment, **quiet)
    deadline = time.monotonic() + 120
    while not (finished_study.folder / "begun").exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (finished_study.folder / "begun").exists()
    time.sleep(0.2)
    run.kill()
    run.wait()
    assert all_processes_end(finished_study.folder)


@pytest.mark.slow
@pytest.mark.surroundings
def test_kills_at_random_moments_leave_no_process_running(finished_study):
    """The killed jobs measure nothing, so the next run repeats them."""
    targets = ["results/data/digits/train-images-idx3-ubyte", "results/sensitivity.csv", "results/table.csv"]
    line, environment = finished_study.command(
        *targets, "--forceall", "--rerun-triggers", "mtime", "--until", "collect", "sensitivity", "digits"
    )
    rng = random.Random(2)
    for _ in range(4):
        run = subprocess.Popen(
            line, cwd=finished_study.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(3, 9))
        run.kill()
        run.wait()
        assert all_processes_end(finished_study.folder)
    out, status = finished_study.snakemake(*targets)
    assert status == 0, out


@pytest.mark.slow
def test_a_second_run_is_refused_with_a_sentence_but_a_dry_run_is_allowed(finished_study):
    with (finished_study.folder / "src/ladder/verbs/sensitivity.py").open("a", encoding="utf-8") as module:
        module.write(WAITING_VERB)
    line, environment = finished_study.command("results/sensitivity.csv")
    run = subprocess.Popen(
        line, cwd=finished_study.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not (finished_study.folder / "begun").exists() and run.poll() is None:
            time.sleep(0.05)
        out, status = finished_study.snakemake("results/sensitivity.csv")
        assert status != 0
        messages = [line for line in out.splitlines() if line.startswith("ladder: Another run")]
        assert len(messages) == 1
        assert messages[0].startswith(
            "ladder: Another run is at work in this folder: `snakemake results/sensitivity.csv`"
        )
        assert f"process {run.pid} in " in messages[0]
        assert "Traceback" not in out
        assert "cannot be locked" not in out
        assert finished_study.snakemake("-n", "results/sensitivity.csv")[1] == 0
    finally:
        run.kill()
        run.wait()


def all_processes_end(folder, seconds=15):
    """Whether all processes of a study end within `seconds`; one that is just starting ends when it misses its run."""
    deadline = time.monotonic() + seconds
    while orphans(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not orphans(folder)


def orphans(folder):
    """Processes of a study that still run."""
    processes = []
    for process in psutil.process_iter(["pid", "cwd", "cmdline"]):
        command = " ".join(process.info["cmdline"] or [])
        if process.info["cwd"] == str(folder) and ("ladder" in command or "sleep" in command):
            processes.append(process.info)
    return processes
