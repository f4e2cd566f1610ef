"""Profiling, with stand-ins for perf and ncu on the PATH."""

import os
from pathlib import Path

import pytest

from ladder.__main__ import main
from ladder.errors import LadderError
from ladder.harness import environment, profiling
from ladder.harness.case_arguments import cases_of

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
METRICS = """==PROF== Connected
"ID","Kernel Name","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum",\
"sm__throughput.avg.pct_of_peak_sustained_elapsed"
"","","%","nsecond","%"
"0","gemm_nn","40.0","3,000","80.0"
"1","reduce","90.0","1,000","10.0"
"2","gemm_nn","20.0","1,000","60.0"
"3","spin","0.0","100,000","0.0"
"""


@pytest.fixture(autouse=True)
def programs(tmp_path, monkeypatch):
    """A working folder, and a first folder of the PATH for stand-ins."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)


def stand_in(name, text):
    path = Path("bin", name)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def perf_output(cycles, instructions, cache_misses, branch_misses):
    values = zip((cycles, instructions, cache_misses, branch_misses), profiling.EVENTS, strict=True)
    return "# started\n\n" + "".join(f"{value};;{event}:u;1;100.00;;\n" for value, event in values)


def test_a_host_s_case_is_counted_while_it_takes_samples(monkeypatch, capsys):
    stand_in("perf", PERF)
    monkeypatch.setenv("COUNTS", perf_output(1000, 3000, 1, 1))
    main(["profile", *WORDS])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3.00 instructions a cycle"
    assert lines[-1].startswith("The execution of instructions bounds it")


def test_a_gpu_s_case_runs_under_ncu(monkeypatch, capsys):
    """The case is one of the host here, so that it runs without a GPU."""
    stand_in("ncu", NCU)
    of_worker = environment.of_worker
    monkeypatch.setattr(environment, "of_worker", lambda *case: of_worker(*case) | {"METRICS": METRICS})
    monkeypatch.setattr(profiling.devices.of(cases_of(WORDS)[0]), "CEILING_DEVICE", "cuda")
    main(["profile", *WORDS])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" % ")[0] for line in lines[:2]] == ["gemm_nn: 80", "reduce: 20"]
    assert "at 75 % of the peak of its arithmetic" in lines[0]
    assert lines[-1] == "The rate of arithmetic or of other instructions bounds gemm_nn."


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
    ("values", "words"),
    [
        ((1000, 3000, 1, 1), "The execution of instructions"),
        ((1000, 500, 50, 1), "Memory"),
        ((1000, 500, 1, 50), "Mispredicted branches"),
        ((1000, 500, 1, 1), "Latency"),
        ((1000, 1500, 1, 1), "No single cause"),
    ],
)
def test_counts_have_a_verdict(values, words):
    assert profiling.lines_on_counts(profiling.parse_counts(perf_output(*values)))[-1].startswith(words)


@pytest.mark.parametrize(
    ("compute", "memory", "words"),
    [
        (80, 30, "The rate of arithmetic"),
        (30, 80, "Memory or a cache"),
        (80, 75, "Arithmetic and memory"),
        (59, 20, "Lat"),
    ],
)
def test_kernels_have_a_verdict(compute, memory, words):
    assert profiling.bottleneck(compute, memory).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it measured no kernel"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "ERR_NVGPUCTRPERM - The user"),
        (METRICS[: METRICS.index('"0"')], "it measured no kernel"),
        (METRICS[: METRICS.index('"0"')] + METRICS[METRICS.index('"3"') :], "it measured no kernel"),
    ],
)
def test_ncu_without_a_result_is_a_sentence(text, words):
    with pytest.raises(LadderError, match=f"ncu has no result: {words}"):
        profiling.parse_kernels(text)
