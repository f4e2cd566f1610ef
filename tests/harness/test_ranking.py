"""Ranking cases, with simulated workers and once with real ones."""

import contextlib
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import TESTS
from ladder.__main__ import main
from ladder.catalogue import workloads as catalogue
from ladder.errors import LadderError
from ladder.harness import ranking, ranking_session, sweeps, turns
from ladder.harness.case_arguments import cases_of
from ladder.harness.ranking import Limits, Ranking, expected_precision, rank
from ladder.statistics.verdicts import compare

WORDS = ["m=17", "n=5", "k=9", "cache=warm"]
SECONDS = {"openmp": 4e-3, "interchanged": 2e-3, "tiled": 1e-3, "blas": 1e-3}  # of simulated calls, by variant


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """A folder of compiled code, variants that are wrong on purpose, and a terminal that folds no line."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def simulated_workers(monkeypatch):
    """The state of simulated workers: `timed` has their cases in order, and a test may set the other attributes.

    `noise` is the relative spread of times, `duration` the seconds of a worker's samples on the simulated clock;
    `fail(case, number)` returns the error of a worker, or None, where `number` counts the workers timed so far.
    """
    state = SimpleNamespace(timed=[], noise=0.01, clock=0.0, duration=0.0, fail=lambda case, number: None)
    generator = np.random.default_rng(1)

    class SimulatedWorker:
        def __init__(self, case, protocol, *others):
            self.case, self.sample_count, self.is_prepared = case, protocol["samples"], False

        def wait_ready(self):
            """Nothing to wait for: no process is started."""

        prepare = stop = lambda self, variables=None: None

        def wait_paused(self):
            if self.is_prepared:
                state.timed.append(self.case)
                state.clock += state.duration
            self.is_prepared = True

        def proceed(self):
            """The simulation has no pause to end."""

        def last_answer(self):
            if error := state.fail(self.case, len(state.timed)):
                raise error
            block = self.case.tuning.get("block", 16)
            seconds = SECONDS.get(self.case.variant, 1e-3) * (1 + abs(block - 8) / 8)
            factors = generator.uniform(1 - state.noise, 1 + state.noise, 2)
            return {
                "samples": [seconds * factors[0]] * (self.sample_count - 1) + [seconds * factors[1]],
                "checks": [{"name": "product", "error": 0.25, "bound": 1.0}],
                "facts": {},
                "system": {"smt": "1"},
            }

    monkeypatch.setattr(turns, "Worker", SimulatedWorker)
    monkeypatch.setattr(turns, "SETTLING_SECONDS", 0.0)
    monkeypatch.setattr(ranking.compilation, "is_needed", lambda case: False)
    monkeypatch.setattr(ranking, "time", SimpleNamespace(monotonic=lambda: state.clock))
    return state


@pytest.fixture
def with_gpu(monkeypatch):
    """A machine that seems to have a GPU, and is idle."""
    for name in ("require_preconditions", "require_devices"):
        monkeypatch.setattr(ranking_session, name, lambda *arguments: None)
    monkeypatch.setattr(ranking_session, "hold_machine", lambda *cases: contextlib.nullcontext())
    monkeypatch.setattr(ranking, "lease_devices", lambda *cases: contextlib.nullcontext({}))


class Report:
    """A report that keeps its sentences and the number of updates."""

    def __init__(self):
        self.sentences, self.updates = [], 0

    def say(self, sentence):
        self.sentences.append(sentence)

    say_once = say

    def update(self, ranking):
        self.updates += 1


def rank_variants(*variants, report=None, **limits):
    """The Ranking of these variants of gemm, compared with the first."""
    cases = cases_of([*(f"gemm/{name}" for name in variants), *WORDS])
    result = Ranking(cases, cases[0], Limits(**limits))
    rank(result, dict.fromkeys(cases, ({}, None)), report or Report())
    return result


def test_cases_take_turns_in_both_orders_and_the_fastest_comes_first(simulated_workers):
    result = rank_variants("openmp", "tiled", "interchanged", processes=2, most_processes=2)
    assert [case.variant for case in simulated_workers.timed] == [
        "openmp", "tiled", "interchanged", "interchanged", "tiled", "openmp",
    ]  # fmt: skip
    assert [case.variant for case in result.measured] == ["tiled", "interchanged", "openmp"]


def test_verdicts_are_those_of_compare_with_the_first_case(simulated_workers):
    result = rank_variants("openmp", "tiled", "interchanged")
    tiled = result.cases[1]
    assert result.verdict(tiled) == compare(result.times(tiled), result.times(result.cases[0]))
    assert result.verdict(tiled).outcome == "faster"


def test_measuring_ends_at_the_target(simulated_workers):
    result = rank_variants("openmp", "tiled", processes=6, detect=0.5)
    assert result.processes == 6
    assert result.end_reason.startswith("The target is reached")


@pytest.mark.parametrize(("flops", "is_refused"), [(1e5, True), (1e15, False)])
def test_samples_that_beat_the_ceilings_drop_their_case_and_name_its_cost(simulated_workers, flops, is_refused):
    cases = cases_of(["gemm/openmp", "gemm/tiled", *WORDS])
    ceilings = {"flops": {"float64": flops}, "bandwidth": 0.0, "cache_bytes": 0, "margin": 1.5}
    result, report = Ranking(cases, cases[0], Limits(processes=2, most_processes=2), ceilings=ceilings), Report()
    if not is_refused:
        rank(result, dict.fromkeys(cases, ({}, None)), report)
        assert not result.failures
        return
    with pytest.raises(LadderError, match="is impossible: by the ceilings"):
        rank(result, dict.fromkeys(cases, ({}, None)), report)
    path = catalogue.workload_path("gemm")
    line = path.read_text().partition("\ndef cost")[0].count("\n") + 2
    assert all(f"for too much work in `cost` in line {line} of {path}" in reason for reason in result.failures.values())
    assert len(result.failures) == 2


def test_an_outcome_does_not_end_the_measuring(simulated_workers):
    """A halved time is evident at once, but the target isn't reached."""
    result = rank_variants("openmp", "interchanged", processes=4, most_processes=14, detect=0.012)
    assert result.verdict(result.cases[1]).outcome == "faster"
    assert result.processes > 4


def test_a_target_out_of_reach_ends_the_measuring_before_the_limits(simulated_workers):
    simulated_workers.noise = 0.4
    result = rank_variants("tiled", "blas", detect=0.01)
    assert result.processes == ranking.EXTRAPOLATION_PROCESSES
    assert result.end_reason.startswith(
        "The target is out of reach: a difference of 1 % would be detected. With 30 processes,"
    )


def test_the_number_of_processes_ends_the_measuring(simulated_workers):
    result = rank_variants("tiled", "blas", processes=2, most_processes=4, detect=1e-9)
    assert result.processes == 4
    assert result.end_reason.startswith("The 4 processes are used up: rerun with --processes 8 for more precision.")


def test_an_odd_number_of_processes_is_used_up_too(simulated_workers):
    assert rank_variants("tiled", "blas", processes=2, most_processes=3, detect=1e-9).processes == 3


@pytest.mark.parametrize(("cap", "processes"), [(0.0, 3), (5.0, 3), (9.0, 4), (1e9, 6)])
def test_no_block_starts_that_would_exceed_the_time_limit_once_there_can_be_a_verdict(
    simulated_workers, cap, processes
):
    """A verdict needs three processes of each case."""
    simulated_workers.duration = 1.0  # a block of two turns of two cases takes 4 s
    result = rank_variants("tiled", "blas", processes=2, most_processes=6, detect=1e-9, cap=cap)
    assert result.processes == processes
    assert ("s are used up: rerun with --cap" in result.end_reason) == (cap < 10)


def test_no_verdict_stands_beside_an_unknown_interval(simulated_workers, capsys):
    """The cases differ 4-fold, and yet two processes of each give no interval."""
    assert run("gemm/openmp", "gemm/tiled", *WORDS, "--processes", "2", "--json", "ranked.json") == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("1."))
    assert row.endswith("unknown        too few processes")
    document = json.loads(Path("ranked.json").read_text(encoding="utf-8"))
    assert [case["verdict"] for case in document["results"]] == [None, None]


def test_a_time_that_is_up_gives_verdicts_nevertheless(simulated_workers, capsys):
    simulated_workers.duration = 10.0
    assert run("gemm/openmp", "gemm/tiled", *WORDS, "--quick") == 0
    printed = capsys.readouterr()
    assert "a verdict needs 3 processes of each case" in printed.err
    assert "× faster" in printed.out
    assert "The 12 s are used up: rerun with --cap 200" in printed.out  # 12 s is the limit of `--quick`


@pytest.mark.parametrize(
    ("detectable", "words"),
    [
        (0.123, "a difference of 12 % would be detected"),
        (3.1, "only a factor of 4.1 would be detected"),
        (math.inf, "only a factor of more than 100 would be detected"),
    ],
)
def test_a_precision_is_the_difference_that_would_be_detected(detectable, words):
    cases = cases_of(["gemm/openmp", "gemm/tiled", *WORDS])
    assert Ranking(cases, cases[0], Limits()).describe_precision(detectable) == words


@pytest.mark.parametrize(("width", "words"), [(0.05, "known within 5 %"), (2.0, "not known within 100 %")])
def test_without_a_comparison_a_precision_is_that_of_medians(width, words):
    cases = cases_of(["gemm/openmp", *WORDS])
    assert Ranking(cases, cases[0], Limits()).describe_precision(width) == f"medians {words}"


def test_a_single_case_is_measured_until_its_interval_is_narrow(simulated_workers):
    result = rank_variants("tiled", processes=4, detect=0.5)
    assert result.processes == 4
    assert result.precision() == result.summary(result.cases[0]).relative_half_width


def test_a_case_that_fails_is_dropped_and_the_others_go_on(simulated_workers):
    simulated_workers.fail = lambda case, number: LadderError("It is wrong.") if case.variant == "tiled" else None
    report = Report()
    result = rank_variants("openmp", "tiled", "interchanged", processes=4, most_processes=4, report=report)
    assert report.sentences == ["gemm/tiled: It is wrong."]
    assert [case.variant for case in result.measured] == ["interchanged", "openmp"]
    assert [len(result.results[case]) for case in result.measured] == [4, 4]


def test_the_next_case_replaces_a_baseline_that_fails(simulated_workers):
    simulated_workers.fail = lambda case, number: LadderError("It is wrong.") if case.variant == "openmp" else None
    report = Report()
    result = rank_variants("openmp", "tiled", "interchanged", report=report)
    assert report.sentences == ["gemm/openmp: It is wrong.", "The others are compared with gemm/tiled in its place."]
    assert result.verdict(result.cases[2]).outcome == "slower"


def test_the_failure_of_every_case_ends_the_measuring(simulated_workers):
    simulated_workers.fail = lambda case, number: LadderError("It is wrong.")
    with pytest.raises(LadderError, match=r"gemm/tiled: It is wrong\."):
        rank_variants("openmp", "tiled")


def test_processes_under_different_conditions_are_refused(simulated_workers, monkeypatch):
    monkeypatch.setattr(
        ranking, "require_same_conditions", lambda results, name: (_ for _ in ()).throw(LadderError(f"{[*results]}"))
    )
    with pytest.raises(LadderError, match=r"The processes of gemm/openmp.*The processes of gemm/tiled"):
        rank_variants("openmp", "tiled")


@pytest.mark.parametrize(("count", "later", "expected"), [(4, 16, 0.0453), (4, 4, 0.0821)])
def test_widths_shrink_with_the_root_of_the_number_of_processes(count, later, expected):
    """Beyond the threshold of 1 %, the logarithm of the precision is 0.069 with 4 processes, half of it with 16."""
    now = 1.01 * math.exp(0.069) - 1
    assert expected_precision(now, count, later) == pytest.approx(expected, abs=2e-4)
    assert expected_precision(math.inf, count, later) == math.inf


def run(*line):
    """Execute the verb `run`; returns its exit status."""
    try:
        main(["run", *line])
    except SystemExit as ended:
        return ended.code
    return 0


def test_the_verb_prints_medians_rates_checks_ratios_and_verdicts(simulated_workers, capsys):
    variants = ["gemm/openmp", "gemm/interchanged", "gemm/tiled"]
    assert run(*variants, *WORDS, "--quick", "--json", "ranked.json") == 0
    printed = capsys.readouterr()
    first, introduction, *lines = printed.err.splitlines()
    assert first == f"Ranks {' '.join([*variants, *WORDS])}."
    assert introduction.startswith("3 cases of gemm: form=nn m=17 n=5 k=9 dtype=float64")
    assert [line.split(":")[0] for line in lines[:3]] == variants
    assert "right on 1 thread, with a largest error of 0.25 of its bound" in lines[0]
    rows = [line.split() for line in printed.out.splitlines()]
    assert [row[1] for row in rows[1:4]] == variants[::-1]
    assert rows[1][-3:] == [rows[1][-3], "×", "faster"]
    assert 3.8 < float(rows[1][-3]) < 4.2
    assert rows[3][-1] == "baseline"
    document = json.loads(Path("ranked.json").read_text(encoding="utf-8"))
    assert [case["case"].split("/")[1] for case in document["results"]] == ["tiled", "interchanged", "openmp"]
    assert document["results"][0]["verdict"]["outcome"] == "faster"
    assert (document["interrupted"], document["baseline"].split("/")[1]) == (False, "openmp")
    assert len(document["results"][2]["times"]) == document["results"][2]["processes"]


def test_ctrl_c_gives_the_ranking_so_far(simulated_workers, capsys):
    def press_ctrl_c(case, number):
        if number > 6:
            raise KeyboardInterrupt

    simulated_workers.fail = press_ctrl_c
    assert run("gemm/openmp", "gemm/tiled", *WORDS, "--json", "ranked.json") == 130
    printed = capsys.readouterr().out
    assert "Interrupted: this is the ranking so far." in printed
    assert "gemm/tiled" in printed
    assert "faster" in printed
    assert json.loads(Path("ranked.json").read_text(encoding="utf-8"))["interrupted"] is True


def test_ctrl_c_names_what_was_not_measured(simulated_workers, capsys):
    def press_ctrl_c(case, number):
        if case.variant == "interchanged":
            raise KeyboardInterrupt

    simulated_workers.fail = press_ctrl_c
    assert run("gemm/openmp", "gemm/interchanged", "gemm/tiled", *WORDS) == 130
    printed = capsys.readouterr().out
    assert "1.  gemm/openmp" in printed
    assert "Not measured: gemm/interchanged and gemm/tiled." in printed


def test_a_variant_that_is_wrong_at_other_sizes_is_not_ranked_even_if_it_is_the_fastest(
    simulated_workers, capsys, monkeypatch
):
    monkeypatch.setattr(ranking.spot_checks, "warnings", lambda cases, *others: {cases[1]: "It is wrong there."})
    assert run("gemm/openmp", "gemm/tiled", "gemm/interchanged", *WORDS, "--quick", "--json", "ranked.json") == 1
    printed = capsys.readouterr()
    rows = [line.split()[:2] for line in printed.out.splitlines() if line.lstrip().startswith(("1.", "2.", "wrong"))]
    assert rows == [["1.", "gemm/interchanged"], ["2.", "gemm/openmp"], ["wrong", "gemm/tiled"]]
    assert "gemm/tiled: It is wrong there." in printed.out
    assert "right on 1 thread, with" in printed.err


def test_ctrl_c_before_any_result_is_a_sentence(simulated_workers, capsys):
    def press_ctrl_c(case, number):
        raise KeyboardInterrupt

    simulated_workers.fail = press_ctrl_c
    assert run("gemm/openmp", "gemm/tiled", *WORDS) == 130
    assert "Interrupted before any case was measured." in capsys.readouterr().out


def test_a_variant_that_fails_gives_an_exit_status(simulated_workers, capsys):
    simulated_workers.fail = lambda case, number: LadderError("It is wrong.") if case.variant == "tiled" else None
    assert run("gemm/openmp", "gemm/tiled", *WORDS, "--quick") == 1
    assert "gemm/tiled: It is wrong." in capsys.readouterr().out


@pytest.mark.usefixtures("with_gpu")
def test_the_winner_of_a_sweep_is_confirmed_on_fresh_processes(simulated_workers, capsys):
    """Blocks of 8 are twice as fast as the default, 16; blocks of 64 fail."""
    simulated_workers.fail = lambda case, number: LadderError("It is wrong.") if case.tuning["block"] == 64 else None
    assert run("gemm/cuda_naive", "m=17", "n=5", "k=9", "--sweep", "block=4,8,16,64", "--json", "swept.json") == 0
    document = json.loads(Path("swept.json").read_text(encoding="utf-8"))
    assert [len(document["sweep"]["results"]), len(document["results"])] == [3, 2]
    assert list(document["sweep"]["failures"].values()) == ["It is wrong."]
    printed = capsys.readouterr()
    assert "gemm/cuda_naive block=64: It is wrong." in printed.err
    assert "unknown" in printed.out  # the intervals of two processes
    assert (
        "Confirms the fastest on fresh processes: gemm/cuda_naive block=16 and gemm/cuda_naive block=8." in printed.err
    )
    swept, confirmed = printed.out.split("chosen but not tested:\n")[1].split("\n    case")
    assert [line.split()[2] for line in swept.splitlines()[1:]] == ["block=8", "block=4", "block=16"]
    assert [line.split()[2] for line in confirmed.splitlines()[1:3]] == ["block=8", "block=16"]
    assert "faster" in confirmed
    block_sizes = [case.tuning["block"] for case in simulated_workers.timed]
    assert block_sizes.count(4) == ranking.TURNS_PER_BLOCK
    assert block_sizes.count(8) >= ranking.TURNS_PER_BLOCK + Limits().processes


def test_the_fastest_of_each_variant_are_confirmed():
    cases = cases_of(["gemm/cuda_tiled", "gemm/cuda_naive", *WORDS], ["block=8,16"])
    swept = Ranking(cases, None, Limits())
    for case, seconds in zip(cases, (3.0, 2.0, 1.0), strict=True):
        swept.results[case] = [{"samples": [seconds]}] * 2
    final = sweeps.final_ranking(swept, Limits())
    assert (final.cases, final.baseline) == ([cases[0], cases[2]], cases[0])
    assert not any(final.results.values()), "the finalists are measured on fresh processes"


@pytest.mark.usefixtures("with_gpu")
@pytest.mark.parametrize(("budget", "count"), [("0.1s", 2), ("7", 4), ("1000", 6)])
def test_a_budget_ends_a_sweep(simulated_workers, capsys, monkeypatch, budget, count):
    """Two combinations are tried together, one per core, which takes 4 s, until the budget is used up."""
    monkeypatch.setattr(sweeps, "time", ranking.time)
    monkeypatch.setattr(sweeps.cpus, "cores", lambda: 2)
    simulated_workers.duration = 1.0
    words = ["gemm/cuda_naive", *WORDS, "--sweep", "block=2,4,8,16,24,32"]
    assert run(*words, "--budget", budget, "--quick") == 0
    within = f"{count} of 6 cases within the budget" if count < 6 else "6 cases"
    printed = capsys.readouterr()
    assert printed.out.startswith(f"{within}, 2 processes each")
    assert f"Tries combinations for {float(budget.removesuffix('s')):g} s" in printed.err
    tried_blocks = {case.tuning["block"] for case in simulated_workers.timed}
    assert len(tried_blocks) == count


@pytest.mark.usefixtures("with_gpu")
def test_a_sweep_says_once_that_a_variant_is_compiled(simulated_workers, capsys, monkeypatch):
    monkeypatch.setattr(ranking.compilation, "is_needed", lambda case: True)
    monkeypatch.setattr(ranking.compilation, "note_path", lambda case: Path("missing"))
    compiled_blocks = []
    monkeypatch.setattr(ranking, "precompile", lambda case, protocol: compiled_blocks.append(case.tuning["block"]))
    assert run("gemm/cuda_naive", *WORDS, "--sweep", "block=8,16,32", "--quick") == 0
    assert set(compiled_blocks) == {8, 16, 32}
    assert capsys.readouterr().err.count("Compiles gemm/cuda_naive") == 1


@pytest.mark.usefixtures("with_gpu")
def test_a_sweep_whose_combinations_all_fail_ends_with_a_sentence(simulated_workers, capsys):
    simulated_workers.fail = lambda case, number: LadderError("It is wrong.")
    assert run("gemm/cuda_naive", *WORDS, "--sweep", "block=2,4,8", "--budget", "9") == 1
    assert "ladder run: Every combination failed; the sentences above say why." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gemm/openmp", "threads=9999"], "gemm/openmp: threads=9999 is more than the"),
        (["gemm/cublas_mixed", "dtype=float64"], "gemm/cublas_mixed: "),
        (["gemm/openmp", "threads=abc"], "gemm/openmp: threads='abc' of gemm/openmp must be a whole number"),
    ],
)
def test_cases_that_cannot_be_measured_are_refused_before_the_wait_for_the_machine(
    simulated_workers, capsys, monkeypatch, words, sentence
):
    monkeypatch.setattr(ranking_session, "hold_machine", lambda *cases: pytest.fail("It waits."))
    assert run(*words, *WORDS) == 1
    assert sentence in capsys.readouterr().err


def test_options_replace_the_limits(monkeypatch):
    limits = []
    monkeypatch.setattr(
        "ladder.harness.ranking_session.run",
        lambda *words, **_: limits.append(words[2]) or (SimpleNamespace(failures={}, warnings={}), False, {}),
    )
    options = ["--samples", "3", "--detect", "0.2", "--processes", "2", "--cap", "7"]
    run("gemm/blas", *options)
    assert limits[0] == Limits(samples=3, detect=0.2, most_processes=2, processes=2, cap=7.0)
    run("gemm/blas", "--quick")
    assert limits[1] == ranking.QUICK
    run("gemm/blas")
    assert limits[2] == Limits()


def test_real_workers_rank_a_right_variant_and_name_a_wrong_one(capsys):
    line = ["gemm/blas", "gemm/wrong_last_tile", "m=65", "n=65", "k=65", "--quick", "--processes", "2"]
    assert run(*line) == 1
    printed = capsys.readouterr()
    assert "gemm/wrong_last_tile: The result is wrong" in printed.err
    assert "1.  gemm/blas" in printed.out
