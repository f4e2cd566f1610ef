"""What the benchmarks report, and what they call a failure. `aa` is an A/A test: it compares equal cases."""

import importlib.util
import math
import os
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
import yaml

from conftest import ROOT, TESTS
from ladder import devices
from ladder.catalogue import workloads
from ladder.records.case import Case
from ladder.statistics.verdicts import Verdict

BENCHMARKS = ROOT / "benchmarks"
SHAPES_PER_SEED = 24  # the default of --count of shapes.py
# The experiments on random shapes, with the dtype of each.
DTYPES_OF_EXPERIMENTS = {
    "gemm_shapes_float64": "float64",
    "gemm_shapes_float32": "float32",
    "gemm_shapes_tf32": "float32",
}


@pytest.fixture
def load_script(monkeypatch):
    """A function that loads the module of a benchmark, whose changes of environment variables are undone."""
    monkeypatch.setenv("LADDER_VARIANTS", "")

    def load(name):
        spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def verdict(outcome, detectable=0.02):
    """A Verdict of this outcome with a made-up ratio and interval; `detectable` is the smallest detectable change."""
    return Verdict(outcome, 1.0, 0.9, 1.1, detectable)


@pytest.mark.parametrize(
    ("outcome", "detectable", "expected"),  # for a slowdown of 5 %
    [
        ("slower", 0.2, "found"),
        ("undecided", 0.051, "undecidable"),
        ("undecided", 0.05, "missed though detectable"),
        ("faster", 0.2, "called faster"),
    ],
)
def test_a_verdict_says_whether_a_planted_slowdown_was_found(load_script, outcome, detectable, expected):
    assert load_script("aa").detection(verdict(outcome, detectable)) == expected


@pytest.mark.parametrize(("false_verdicts", "status"), [(0, 0), (5, 0), (6, 1), (100, 1)])
def test_more_than_five_false_verdicts_in_a_hundred_are_a_failure(
    load_script, monkeypatch, capsys, false_verdicts, status
):
    aa = load_script("aa")
    outcomes = ["slower"] * false_verdicts + ["undecided"] * (100 - false_verdicts)
    monkeypatch.setattr(
        aa, "compare_repeatedly", lambda a, b, count, **rule: map(verdict, outcomes if a == b else ["slower"])
    )
    monkeypatch.setattr("sys.argv", ["aa.py"])
    with pytest.raises(SystemExit) as end:
        aa.main()
    assert end.value.code == status
    output = capsys.readouterr().out
    assert f"{100 - false_verdicts} of 100" in output
    assert "{'found': 1}" in output


@pytest.mark.exhaustive
def test_a_comparison_of_equals_and_a_planted_slowdown_run(load_script, monkeypatch, capsys, tmp_path):
    aa = load_script("aa")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["aa.py", "--same", "1", "--planted", "1", "--pairs", "4"])
    with pytest.raises(SystemExit):
        aa.main()
    assert capsys.readouterr().out.count(" pairs, detects changes from ") == 2


@pytest.mark.gpu
@pytest.mark.clock
def test_a_comparison_on_a_gpu_runs(load_script, monkeypatch, capsys, tmp_path):
    aa = load_script("aa")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["aa.py", "--device", "cuda", "--same", "1", "--planted", "1"])
    with pytest.raises(SystemExit):
        aa.main()
    output = capsys.readouterr().out
    assert "gemm/cuda_shared" in output
    assert "slowdowns: {'found': 1}" in output


@pytest.mark.parametrize(("name", "arguments"), [("aa", ["--device", "cuda"]), ("launch", [])])
def test_without_a_gpu_there_is_an_error(name, arguments, tmp_path):
    command = [sys.executable, BENCHMARKS / f"{name}.py", *arguments]
    folders = [str(TESTS / "fake_cupy"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PATH": "", "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 1
    assert process.stderr == f"{name}: There is no GPU to work on: `nvidia-smi` lists none.\n"


@pytest.mark.parametrize(("alone_us", "status"), [(5.4, 0), (5.6, 1), (4.6, 0), (4.4, 1)])
def test_a_launch_over_a_tenth_slower_or_faster_alone_is_a_failure(load_script, monkeypatch, capsys, alone_us, status):
    """Compared with a launch in a batch, which takes 5 µs here."""
    launch = load_script("launch")
    monkeypatch.setattr(devices.load("cuda"), "lease", lambda: nullcontext({}))
    monkeypatch.setattr(launch, "product_times", lambda: (alone_us * 1e-6, 5e-6))
    with pytest.raises(SystemExit) as end:
        launch.main()
    assert end.value.code == status
    assert f"ratio: {alone_us / 5:.3f}" in capsys.readouterr().out


@pytest.mark.gpu
@pytest.mark.clock
def test_a_short_kernel_takes_as_long_alone_as_in_a_batch(load_script, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    launch = load_script("launch")
    alone, in_batch = launch.product_times()
    assert alone / in_batch == pytest.approx(1, abs=launch.MAX_DIFFERENCE)


@pytest.mark.exhaustive
@pytest.mark.workflow
def test_the_pipelines_cost_is_measured(load_script, monkeypatch, capsys):
    overhead = load_script("overhead")
    monkeypatch.setattr(overhead, "FEW_CASES", 1)
    monkeypatch.setattr("sys.argv", ["overhead.py", "--cases", "17", "--jobs", "1"])
    with pytest.raises(SystemExit):
        overhead.main()
    output = capsys.readouterr().out
    assert "planning 17 cases" in output
    seconds = [float(line.split(":")[1].split("s")[0]) for line in output.splitlines()[1:]]
    job, measurement, worker_starts, pipeline, total_overhead = seconds  # printed with two decimals
    assert total_overhead == pytest.approx(worker_starts + pipeline, abs=0.02)
    assert job == pytest.approx(measurement + total_overhead, abs=0.02)


@pytest.mark.parametrize(
    ("workload", "device"), [("gemm", "host"), ("gemm", "cuda"), ("gemv", "host"), ("gemv", "cuda")]
)
def test_shapes_are_those_of_the_seed_and_within_the_limits(load_script, workload, device):
    shapes = load_script("shapes")
    all_sizes = shapes.draw_shapes(workload, device, 3, SHAPES_PER_SEED)
    assert all_sizes == shapes.draw_shapes(workload, device, 3, SHAPES_PER_SEED)
    assert all_sizes != shapes.draw_shapes(workload, device, 4, SHAPES_PER_SEED)
    classes = {(sizes.get("form"), sizes["dtype"]) for sizes in all_sizes}
    assert len(classes) == len(shapes.FORMS[workload]) * 2
    for sizes in all_sizes:
        arrays = workloads.load(workload).arrays(sizes)
        bytes_of_all = sum(
            math.prod(shape) * np.dtype(dtype).itemsize for part in arrays for shape, dtype in part.values()
        )
        assert bytes_of_all <= 1.1 * shapes.MAX_BYTES[device]  # a tenth more, as gemv's limit is on its matrix alone


def test_variants_of_another_precision_do_not_take_part(load_script):
    shapes = load_script("shapes")
    sizes = {"form": "nn", "m": 33, "n": 17, "k": 65, "dtype": "float32"}
    names = {
        math: [case.variant for case in shapes.contenders("gemm", "cuda", sizes, {"math": math})]
        for math in ("default", "tf32")
    }
    assert names == {
        "default": ["cublas", "cuda_tiled", "cuda_skinny", "cuda_packed"],
        "tf32": ["cublas", "cuda_mma", "cuda_wgmma"],
    }


def test_the_library_on_the_host_can_be_chosen(load_script, monkeypatch, capsys):
    shapes = load_script("shapes")
    sizes = {"n": 33, "m": 17, "dtype": "float32"}
    names = {
        library: [case.variant for case in shapes.contenders("gemv", "host", sizes, {"threads": 1}, library)]
        for library in (None, "pytorch")
    }
    assert names == {None: ["blas", "openmp"], "pytorch": ["pytorch", "openmp"]}
    monkeypatch.setattr("sys.argv", ["shapes.py", "--device", "cuda", "--library", "pytorch", "--seed", "1"])
    with pytest.raises(SystemExit):
        shapes.main()
    assert "--library is for --device host" in capsys.readouterr().err


def test_configured_shapes_are_those_of_the_seeds(load_script, monkeypatch, capsys):
    seeds = ["1", "2", "3", "4", "5"]  # of config/shapes.yaml; config.yaml has only the shapes of the first
    monkeypatch.setattr("sys.argv", ["shapes.py", "--device", "cuda", "--sizes", "--seed", *seeds])
    load_script("shapes").main()
    all_sizes = yaml.safe_load(capsys.readouterr().out)
    for file, seed_count in ((ROOT / "config/shapes.yaml", len(seeds)), (ROOT / "config/config.yaml", 1)):
        experiments = yaml.safe_load(file.read_text(encoding="utf-8"))["experiments"]
        for name, dtype in DTYPES_OF_EXPERIMENTS.items():
            sizes = [sizes for sizes in all_sizes[: SHAPES_PER_SEED * seed_count] if sizes["dtype"] == dtype]
            assert experiments[name]["sizes"] == sizes


@pytest.mark.parametrize(
    ("form", "odd_sizes"), [("nn", {"k", "n"}), ("tn", {"m", "n"}), ("nt", {"k", "n"}), (None, {"m"})]
)
def test_a_row_length_is_odd_by_the_sizes_along_which_a_form_stores_rows(load_script, form, odd_sizes):
    shapes = load_script("shapes")
    names = ("m", "n", "k") if form else ("n", "m")
    even_sizes = dict.fromkeys(names, 64) | {"dtype": "float32"} | ({"form": form} if form else {})
    assert "even row length" in shapes.classes_of(even_sizes)
    assert {name for name in names if "odd row length" in shapes.classes_of(even_sizes | {name: 65})} == odd_sizes


def test_the_summary_names_the_worst_shapes_and_the_classes_that_lose(load_script, capsys):
    shapes = load_script("shapes")
    results = []
    for number, ratio in enumerate((0.5, 0.6, 1.5, 1.6)):
        sizes = {"form": "nn" if ratio < 1 else "tn", "m": 99, "n": 100 + number, "k": 98, "dtype": "float64"}
        results.append(shapes.Result(sizes, Case("gemm", "tiled", sizes, {"threads": 1}), ratio, ratio, ratio))
    shapes.print_summary(results)
    lines = capsys.readouterr().out.splitlines()
    (line_of_all,) = (line for line in lines if line.startswith("  all"))
    assert "4 shapes   0.92 " in line_of_all  # (0.5 · 0.6 · 1.5 · 1.6)^¼
    (line_of_losers,) = (line for line in lines if "form nn" in line)
    assert "form tn" in "".join(lines)
    assert "0.55" in line_of_losers  # (0.5 · 0.6)^½
    line_of_worst = lines[lines.index("lowest 4") + 1]
    assert "0.50" in line_of_worst
    assert "100" in line_of_worst  # its n


@pytest.mark.slow
def test_shapes_are_measured_and_written(load_script, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["shapes.py", "--workload", "gemv", "--seed", "6", "--count", "2", "--csv", "shapes.csv"]
    )
    load_script("shapes").main()
    assert "all               2 shapes" in capsys.readouterr().out
    header, *rows = (tmp_path / "shapes.csv").read_text(encoding="utf-8").splitlines()
    assert header.split(",")[-4:] == ["variant", "ratio", "low", "high"]
    assert len(rows) == 2
