"""Profiling, with stand-ins for perf and ncu on the PATH."""

import os
from pathlib import Path

import pytest
import yaml

from ladder.__main__ import main
from ladder.errors import LadderError
from ladder.harness import environment, kernel_counters, profiling
from ladder.harness.case_arguments import cases_of
from ladder.store import COUNTERS_FILE, counters, published_index

WORDS = ["gemm/blas", "m=17", "n=5", "k=9", "cache=warm"]
PERF = """#!/bin/sh
# Counts until SIGINT, and then writes what it was told to.
while [ "$1" != -o ]; do shift; done
file=$2
trap 'printf "%s" "$COUNTS" > "$file"; exit 0' INT
while :; do sleep 0.05; done
"""
NCU = """#!/bin/sh
# Runs the worker, and then writes what it was told to.
while [ "$1" != --log-file ]; do shift; done
file=$2
while [ "$1" != --launch-count ]; do shift; done
shift 2
"$@"
printf "%s" "$METRICS" > "$file"
"""
STALLS = ("barrier", "not_selected", "selected", "wait")  # states of warps; (not_)selected ones do not wait


def ncu_output(*kernels):
    """What ncu prints of kernels: (name, ns, % of cycles with an instruction, % of FMA pipe, % of DRAM, *STALLS)."""
    metrics = [kernel_counters.TIME, kernel_counters.ISSUE, *kernel_counters.PIPES, *kernel_counters.MEMORIES]
    stalls = [f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio" for name in STALLS]
    columns = [*metrics, *stalls, "launch__grid_size"]
    lines = [["ID", "Kernel Name", *columns], ["", "", *["%"] * len(columns)]]
    for number, (kernel, time, issue, fma, dram, *waits) in enumerate(kernels):
        values = dict.fromkeys(metrics, "0") | {kernel_counters.TIME: f"{time:,}", kernel_counters.ISSUE: issue}
        values |= {metric: fma for metric, pipe in kernel_counters.PIPES.items() if pipe == "fma"}
        values |= {metric: dram for metric, name in kernel_counters.MEMORIES.items() if name == "DRAM"}
        lines.append([number, kernel, *values.values(), *waits, 132])
    rows = [",".join(f'"{value}"' for value in line) for line in lines]
    return "\n".join(["==PROF== Connected", *rows, ""])


OUTPUT = ncu_output(
    ("gemm_nn", 3000, 90, 80, 40, 1, 2, 1, 0),
    ("reduce", 1000, 10, 5, 90, 1, 1, 1, 3),
    ("gemm_nn", 1000, 90, 60, 20, 1, 2, 1, 0),
    ("spin", 100_000, 1, 1, 1, 0, 0, 1, 0),  # a kernel of the harness, which is ignored
)


@pytest.fixture(autouse=True)
def programs(tmp_path, monkeypatch):
    """A working folder, and a first folder of the PATH for stand-ins."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)


def install_stand_in(name, text):
    """Put a program of this text on the PATH."""
    path = Path("bin", name)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def perf_output(cycles, instructions, cache_misses, branch_misses):
    """What perf prints of these counts."""
    values = zip((cycles, instructions, cache_misses, branch_misses), profiling.EVENTS, strict=True)
    return "# started\n\n" + "".join(f"{value};;{event}:u;1;100.00;;\n" for value, event in values)


def test_a_case_on_the_host_is_counted_while_it_takes_samples(monkeypatch, capsys):
    install_stand_in("perf", PERF)
    monkeypatch.setenv("COUNTS", perf_output(1000, 3000, 1, 1))
    main(["profile", *WORDS])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3.00 instructions a cycle"
    assert lines[-1].startswith("It is bound by its instructions")


def test_a_case_on_a_gpu_runs_under_ncu(monkeypatch, capsys):
    """The case is one of the host here, so that it runs without a GPU."""
    install_stand_in("ncu", NCU)
    of_worker = environment.of_worker
    monkeypatch.setattr(environment, "of_worker", lambda *case: of_worker(*case) | {"METRICS": OUTPUT})
    monkeypatch.setattr(profiling.devices.of(cases_of(WORDS)[0]), "CEILING_DEVICE", "cuda")
    main(["profile", *WORDS])
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("gemm_nn: 80 % of the time; instructions in 90 % of the cycles")
    assert "fma 75 %, DRAM 35 %, L2 0 %, L1 0 %; warps stall most often by barrier, 25 %" in first
    assert second.startswith("reduce: 20 % of the time")
    assert "warps stall most often by wait, 50 %" in second
    assert last == "gemm_nn is bound by arithmetic or other instructions."


def test_the_counters_of_all_launches_are_added():
    gemm, reduce = kernel_counters.parse(OUTPUT)
    assert (gemm.kernel, gemm.launches, gemm.seconds) == ("gemm_nn", 2, 4e-6)
    assert gemm.pipe == "fma"
    assert gemm.pipes["fma"] == pytest.approx(0.75)  # 80 % for 3 µs, 60 % for 1 µs
    assert gemm.memories["DRAM"] == pytest.approx(0.35)
    assert (reduce.stall, reduce.stalls["wait"]) == ("wait", 0.5)


def test_a_metric_that_a_gpu_lacks_counts_as_zero():
    (kernel,) = kernel_counters.parse(ncu_output(("gemm_nn", 3000, 90, "n/a", 40, 0, 1, 0, 0)))
    assert kernel.pipes["fma"] == 0
    assert kernel.stalls["wait"] == 0


def test_counters_are_published(monkeypatch, capsys):
    """The first case is on the host, so that it runs without a GPU; the second one fails, and is named."""
    install_stand_in("ncu", NCU)
    of_worker = environment.of_worker
    monkeypatch.setattr(environment, "of_worker", lambda *case: of_worker(*case) | {"METRICS": OUTPUT})
    sizes = {"form": "nn", "m": 17, "n": 5, "k": 9, "dtype": "float64"}
    variants = {"blas": {"threads": 1}, "cuda_naive": {}}
    experiment = {"question": "?", "workload": "gemm", "sizes": sizes, "variants": variants}
    Path("mine.yaml").write_text(yaml.safe_dump({"experiments": {"mine": experiment}}), encoding="utf-8")
    Path("published").mkdir()
    monkeypatch.setattr(published_index, "write", lambda folder: None)
    with pytest.raises(SystemExit):
        main(["counters", "--machine", "here", "--configfile", "mine.yaml", "--into", "published"])
    assert "cuda_naive/form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1" in capsys.readouterr().err
    rows = counters.read(["published/here/counters.csv.gz"])
    assert rows["kernel"].tolist() == ["gemm_nn", "reduce"]
    assert rows["pipe_share"].tolist() == [0.75, 0.05]
    assert rows["variant"].unique().tolist() == ["blas"]


def test_counters_of_other_cases_stay_published():
    row = {"machine": "here", "experiment": "one", "workload": "gemm", "variant": "blas", "pipe": "fma"}
    for case, kernels in [("a", ["old", "older"]), ("b", ["other"]), ("a", ["new"])]:
        counters.write(".", [row | {"case": case, "kernel": kernel} for kernel in kernels])
    assert counters.read([COUNTERS_FILE])[["case", "kernel"]].to_numpy().tolist() == [["b", "other"], ["a", "new"]]


@pytest.mark.parametrize(("word", "tool"), [("gemm/blas", "perf"), ("gemm/cuda_naive", "ncu")])
def test_a_missing_profiler_is_named_with_what_to_install(monkeypatch, word, tool, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(profiling, "require_preconditions", lambda *arguments: None)
    with pytest.raises(SystemExit):
        main(["profile", word, *WORDS[1:]])
    assert f"{word} is profiled by `{tool}`, which is missing: install" in capsys.readouterr().err


def test_only_one_case_is_profiled(capsys):
    with pytest.raises(SystemExit):
        main(["profile", "gemm/tiled", *WORDS])
    assert "Only one case can be profiled at a time." in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "<not supported>;;cycles;0;100.00;;\n", perf_output(1, 0, 1, 1)])
def test_counters_that_are_unavailable_are_a_sentence(text):
    with pytest.raises(LadderError, match=r"perf counted no (cycles|instructions) here: virtual machines"):
        profiling.parse_counts(text)


@pytest.mark.parametrize(
    ("values", "words"),  # the values are cycles, instructions, cache misses and branch misses
    [
        ((1000, 3000, 1, 1), "It is bound by its instructions"),
        ((1000, 500, 50, 1), "It is memory-bound"),
        ((1000, 500, 1, 50), "It is bound by mispredicted branches"),
        ((1000, 500, 1, 1), "It is latency-bound"),
        ((1000, 1500, 1, 1), "No single cause"),
    ],
)
def test_counts_have_a_verdict(values, words):
    assert profiling.lines_on_counts(profiling.parse_counts(perf_output(*values)))[-1].startswith(words)


@pytest.mark.parametrize(
    ("compute", "memory", "words"),  # shares of the maximum rates
    [
        (0.8, 0.3, "bound by arithmetic or"),
        (0.3, 0.8, "bound by memory or"),
        (0.8, 0.75, "bound by arithmetic and memory"),
        (0.59, 0.2, "latency-bound"),
    ],
)
def test_kernels_have_a_verdict(compute, memory, words):
    assert profiling.bottleneck(compute, memory).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it measured no kernel"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "ERR_NVGPUCTRPERM - The user"),
        (ncu_output(), "it measured no kernel"),
        (ncu_output(("spin", 100, 1, 1, 1, 0, 0, 1, 0)), "it measured no kernel"),
    ],
)
def test_ncu_without_a_result_is_a_sentence(text, words):
    with pytest.raises(LadderError, match=f"ncu has no result: {words}"):
        kernel_counters.parse(text)
