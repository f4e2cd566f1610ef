"""The workflow itself: what is planned after which change, what a failure costs, what a kill leaves behind."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import psutil
import pytest

from ladder.records import record

pytestmark = pytest.mark.workflow
WRONG = {
    "wrong_nothing": "NaN or infinite",
    "wrong_nan": "NaN or infinite",
    "wrong_unwritten": "NaN or infinite",
    "wrong_last_tile": "The result is wrong",
    "wrong_last_run": "The result is wrong",
    "wrong_precision": "The result is wrong",
    "wrong_one_element": "The result is wrong",
    "wrong_impossible": "NaN or infinite",
    "wrong_crash": "The variant stopped with ValueError: no such matrix",
    "wrong_killed": "was killed by signal 9",
}


def two_variants(study):
    """An experiment with two variants on two sizes, and one with the same cases of one of them."""
    study.add("both", {"blas": {"threads": 1}, "slower_blas": {"percent": 5, "threads": 1}})
    return study.add("one", {"blas": {"threads": 1}})


def measured(files):
    """The variants of the records among files."""
    return sorted(path.split("/")[4] for path in files if path.startswith("results/records/"))


def test_a_case_of_two_experiments_is_measured_once(study):
    out, status = two_variants(study).snakemake("results/table.csv")
    assert status == 0, out
    assert len(study.records()) == 4
    assert study.pending("results/table.csv") == set()
    assert "Of 4 cases 4 measured now, 0 before, 0 failed, 0 not begun or cut off, 0 left out." in out


def test_an_edit_reruns_what_it_can_change_and_nothing_else(study):
    two_variants(study).snakemake("results/table.csv")
    blas = study.folder / "src/ladder/workloads/gemm/blas.py"
    text = blas.read_text()

    blas.write_text(text.replace('DEVICE = "host"', '# A comment changes no measurement.\nDEVICE = "host"'))
    assert study.pending("results/table.csv") == set()

    assert "1.0" in text
    blas.write_text(text.replace("1.0", "2.0 / 2"))
    pending = study.pending("results/table.csv")
    assert measured(pending) == ["blas", "blas", "slower_blas", "slower_blas"]  # the one imports the other
    assert {"results/tables/one/samples.csv", "results/tables/both/samples.csv", "results/table.csv"} <= pending


def test_what_changes_while_the_ceilings_are_old_too_is_measured_anew(study):
    """Where ceilings are measured anew as well, Snakemake doesn't look at the parameters of what waits for them."""
    study.add("ceiling_products", {"blas": {"threads": 1}}, sizes={"form": "nn", "m": 33, "n": 33, "k": 33})
    out, status = two_variants(study).snakemake("results/table.csv")
    assert status == 0, out
    worker = study.folder / "src/ladder/harness/worker.py"
    text = worker.read_text()
    worker.write_text(text + "UNUSED = 1\n")
    assert measured(study.pending("results/table.csv")) == ["blas"] * 3 + ["slower_blas"] * 2
    worker.write_text(text)
    assert study.pending("results/table.csv") == set()
    study.config["protocol"] = study.config["protocol"] | {"samples": 3}
    assert measured(study.pending("results/table.csv")) == ["blas"] * 3 + ["slower_blas"] * 2


def test_other_ceilings_hide_nothing_that_is_missing(study):
    """Where the ceilings alone are made anew, Snakemake overlooks what has them as `ancient` inputs."""
    for m in (33, 34):
        study.add(f"ceiling_{m}", {"blas": {"threads": 1}}, sizes={"form": "nn", "m": m, "n": 33, "k": 33})
    out, status = two_variants(study).snakemake("publish")
    assert status == 0, out
    of_33 = study.config["experiments"]["ceiling_33"]

    study.config["experiments"]["ceiling_33"] = None
    study.add("more", {"tiled": {"threads": 1}})
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    assert "Of 7 cases 2 measured now, 5 before" in out
    study.config["experiments"]["ceiling_33"] = of_33
    out, status = study.snakemake("publish")
    assert status == 0, out
    assert "(Rule: publish)" in out


def test_configurations_of_other_sizes_and_protocols_keep_their_records(study):
    whole = two_variants(study).config
    study.snakemake("results/table.csv")
    small = {"question": "?", "workload": "gemm", "sizes": {"form": "nn", "m": 3, "n": 3, "k": 3}}
    small["variants"] = {"blas": {"threads": 1}}
    dropped = dict.fromkeys(whole["experiments"])
    other = {"protocol": whole["protocol"] | {"samples": 3}, "experiments": dropped | {"small": small}}
    study.config = whole | other
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    study.config = whole
    assert measured(study.pending("results/table.csv")) == []


def test_an_edit_of_one_variant_leaves_other_experiments_alone(study):
    two_variants(study).snakemake("results/table.csv")
    slower = study.folder / "tests/variants/gemm/slower_blas.py"
    slower.write_text(slower.read_text().replace("100 + percent", "100 + 2 * percent"))
    pending = study.pending("results/table.csv")
    assert measured(pending) == ["slower_blas", "slower_blas"]
    assert "results/tables/one/samples.csv" not in pending


def test_a_new_variant_runs_just_its_cases(study):
    two_variants(study).snakemake("results/table.csv")
    (study.folder / "src/ladder/workloads/gemm/mine.py").write_text(
        (study.folder / "src/ladder/workloads/gemm/blas.py").read_text()
    )
    study.config["experiments"]["both"]["variants"]["mine"] = {"threads": 1}
    pending = study.pending("results/table.csv")
    assert measured(pending) == ["mine", "mine"]
    assert "results/tables/one/samples.csv" not in pending


def test_a_changed_protocol_measures_everything_anew(study):
    two_variants(study).snakemake("results/table.csv")
    study.config["protocol"] = study.config["protocol"] | {"samples": 3}
    assert measured(study.pending("results/table.csv")) == ["blas", "blas", "slower_blas", "slower_blas"]


def compiled(study):
    """How many functions Numba compiled in the processes that measured, each number once."""
    return {one["compiled"] for path in study.records().values() for one in record.read(path)["processes"]}


def test_numba_compiles_ahead_once_for_a_kind_and_never_in_a_measurement(study):
    sizes = {"form": "nn", "m": 17, "n": 5, "k": [1, 9]}
    study.add("loops", {"openmp": {"threads": [1, 2]}, "blas": {"threads": 1}}, sizes=sizes)
    study.add("types", {"openmp": {"threads": 1}}, sizes=sizes | {"dtype": "float32"})
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    assert out.count("rule precompile:") == 2
    assert len(study.records()) == 8
    assert compiled(study) == {0}

    # Compiled code that was deleted, or is of another text, makes no record old, and measuring still compiles nothing.
    openmp = study.folder / "src/ladder/workloads/gemm/openmp.py"
    text = openmp.read_text()
    for change in (
        lambda: shutil.rmtree(study.folder / "results/cache"),
        lambda: openmp.write_text(text.replace("\nDEVICE", "\n# A comment changes no measurement.\nDEVICE")),
    ):
        change()
        assert study.pending("results/table.csv") == set()
        sizes["k"].append(sizes["k"][-1] + 1)
        assert measured(study.pending("results/table.csv")) == ["blas", "openmp", "openmp", "openmp"]
        out, status = study.snakemake("results/table.csv")
        assert status == 0, out
        assert "rule precompile:" not in out
        assert compiled(study) == {0}

    # Other code is compiled ahead again.
    openmp.write_text(text.replace("total = a.dtype.type(0)", "total = 0 * a.dtype.type(0)"))
    pending = study.pending("results/table.csv")
    assert measured(pending) == ["openmp"] * 12
    assert sum(path.startswith("results/compiled/") for path in pending) == 2


def test_wrong_kernels_fail_their_jobs_and_cost_no_other_its_result(study):
    study.add(
        "wrong", {"blas": {"threads": 1}} | {name: {"threads": 1} for name in WRONG}, sizes={"m": 17, "n": 5, "k": 9}
    )
    out, status = study.snakemake("results/table.csv", "--logger", "rich")
    assert status != 0
    assert [key.split("/")[1] for key in study.records()] == ["blas"]
    flat = " ".join(out.split())
    assert f"Of {len(WRONG) + 1} cases 1 measured now, 0 before, {len(WRONG)} failed, 0 not begun" in flat
    assert "`snakemake --config measure=false` writes the paper without" in flat
    for name, sentence in WRONG.items():
        (log,) = (study.folder / "results/logs/measure/here/gemm" / name).glob("*.log")
        assert sentence in log.read_text(), (name, log.read_text())
        assert f"gemm/{name}/" in flat
        assert sentence in flat.rpartition("Failed:")[2]
    # The table is made without them when asked for, and says so.
    study.config["measure"] = False
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    assert "measured now" not in out
    assert (study.folder / "results/tables/wrong/missing.csv").read_text().count("not measured") == len(WRONG)


def test_more_threads_than_cores_are_left_out_and_named(study):
    study.add("threads", {"blas": {"threads": [1, 2, 64]}}, sizes={"m": 17, "n": 5, "k": 9})
    out, status = study.snakemake("results/table.csv", "--cores", "1")
    assert status == 0, out
    missing = (study.folder / "results/tables/threads/missing.csv").read_text()
    assert "needs 2 cores, 1 to be had" in missing
    assert "needs 64 cores, 1 to be had" in missing
    assert len(study.records()) == 1
    assert "1  needs 64 cores, 1 to be had" in out


def test_a_record_of_changed_code_is_not_collected(study):
    two_variants(study).snakemake("results/table.csv")
    path = next(iter(study.records().values()))
    found = record.read(path)
    found["sources"] = "0" * 16
    path.write_text(json.dumps(found))
    out, status = study.snakemake("results/table.csv")
    assert status != 0
    assert "was measured with code that has changed since" in " ".join(out.split())


def test_a_bad_configuration_is_one_sentence(study):
    study.add("typo", {"blas": {"threads": 1}})
    study.config["experiments"]["typo"]["colour"] = "red"
    out, status = study.snakemake("-n")
    assert status != 0
    assert "The configuration is wrong at experiments.typo" in out
    assert "Traceback" not in out


def test_ten_kills_lose_nothing_and_double_nothing(study):
    """SIGKILL at random moments: what was recorded stays as it is, and the last run completes."""
    study.add("kill", {"blas": {"threads": 1}}, sizes={"m": 17, "n": 5, "k": list(range(1, 13))})
    chance = random.Random(1)
    line, environment = study.command("results/table.csv")
    known = {}
    for _ in range(10):
        run = subprocess.Popen(
            line, cwd=study.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(1.5, 6.0))
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        time.sleep(0.3)
        for key, path in study.records().items():
            found = record.read(path)  # whole and sound
            known.setdefault(key, found["started"])
        deadline = time.monotonic() + 3  # one that was just starting ends once it has asked who its parent is
        while orphans(study.folder) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not orphans(study.folder)
    out, status = study.snakemake("results/table.csv")
    assert status == 0, out
    records = study.records()
    assert len(records) == 12
    table = (study.folder / "results/table.csv").read_text()
    for path in records.values():
        samples = sum(len(process["samples"]) for process in record.read(path)["processes"])
        assert table.count(f'"{record.from_path(path.stem)}"') == samples


def orphans(folder):
    """Processes of a study that still run."""
    found = []
    for process in psutil.process_iter(["pid", "cwd", "cmdline"]):
        if process.info["cwd"] == str(folder) and "ladder" in " ".join(process.info["cmdline"] or []):
            found.append(process.info)
    return found


def test_an_edit_of_a_figure_redraws_that_figure_alone(study):
    study.add("gemm_threads", {"blas": {"threads": 1}})
    targets = [f"results/figures/{name}.svg" for name in ("gemm_time", "gemm_speedup")]
    out, status = study.snakemake(*targets)
    assert status == 0, out
    module = study.folder / "src/ladder/figures/gemm_speedup.py"
    module.write_text(module.read_text() + "\nEDITED = True\n")
    pending = study.pending(*targets)
    assert {path.rsplit(".", 1)[0] for path in pending} == {"results/figures/gemm_speedup"}
