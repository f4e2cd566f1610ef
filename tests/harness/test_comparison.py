"""Comparing two cases, with real and simulated workers; the variant `slower_blas` is slow on purpose."""

import json
import math
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import TESTS
from ladder.__main__ import main
from ladder.errors import LadderError
from ladder.harness import comparison
from ladder.harness.workers import Worker
from ladder.quantities import digits, seconds
from ladder.records import files
from ladder.statistics.verdicts import Verdict

SIZES = "form=nn,m=65,n=65,k=257,dtype=float64,source=random,seed=1,cache=warm"
PLAIN = f"gemm/blas/{SIZES},threads=1"
SLOWER = f"gemm/slower_blas/{SIZES},percent=100,threads=1"
# Values of `detect`, the difference that a comparison aims to detect: the aim is reached at once, or never.
REACHED_TARGET, UNREACHABLE_TARGET = 1e9, 0.0


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """The tests' variants, and a working directory for compiled code."""
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def measurement_order(monkeypatch):
    """(variant, number of workers started so far) of each measurement, in order."""
    workers, measurements = [], []

    class RecordedWorker(Worker):
        def __init__(self, case, *arguments):
            assert sum(worker.process.poll() is None for worker in workers) < 4, "more workers than in a block"
            super().__init__(case, *arguments)
            workers.append(self)

        def go(self, variables=None):
            measurements.append((self.case.variant, len(workers)))
            return super().go(variables)

    monkeypatch.setattr(comparison, "Worker", RecordedWorker)
    yield measurements
    assert all(worker.process.poll() is not None for worker in workers), "a worker is still running"


@pytest.fixture
def simulated_workers(monkeypatch):
    """The measurements of workers without processes, whose times are random; those of `slower_blas` are doubled.

    Their conditions are those of the function `conditions`, which a test may replace.
    """
    measurements, generator = [], np.random.default_rng(1)

    class SimulatedWorker:
        def __init__(self, case, protocol, *arguments):
            self.case, self.sample_count = case, protocol["samples"]

        def go(self, variables=None):
            measurements.append(self)
            seconds = 2e-3 if self.case.variant == "slower_blas" else 1e-3
            samples = list(seconds * generator.uniform(0.98, 1.02) * generator.uniform(0.99, 1.01, self.sample_count))
            return {"samples": samples, "system": conditions(self.case, len(measurements))}

        def wait_ready(self):
            """Nothing to wait for: no process is started."""

        stop = wait_ready

    monkeypatch.setattr(comparison, "Worker", SimulatedWorker)
    return measurements


def conditions(case, number):
    """The conditions of a simulated worker, by its case and its number from 1 on."""
    return {"smt": "1"}


def compare_keys(a, b, **options):
    """The Comparison of the cases with these keys."""
    return comparison.compare_cases(comparison.parse_key(a), comparison.parse_key(b), **options)


@pytest.mark.parametrize(
    ("new_conditions", "refusal"),
    [
        # The last of 8 workers is one of case B.
        (lambda case, number: {"smt": "1" if number < 8 else "0"}, r"The processes of case B .*smt \(1 and 0\)"),
        (lambda case, number: {"boost": case.variant}, r"The two cases .*boost \(slower_blas and blas\)"),
        (lambda case, number: {f"blas/{case.variant}.so/version": "1"}, None),  # each case loads another library
        (lambda case, number: {"blas/one.so/architecture": case.variant}, "The two cases"),
    ],
)
def test_processes_under_different_conditions_are_not_compared(simulated_workers, monkeypatch, new_conditions, refusal):
    monkeypatch.setitem(globals(), "conditions", new_conditions)
    if refusal is None:
        result = compare_keys(SLOWER, PLAIN, samples=2, min_pairs=4, detect=REACHED_TARGET)
        assert result.conditions["b"] == {"blas/blas.so/version": "1"}
        return
    with pytest.raises(LadderError, match=refusal):
        compare_keys(SLOWER, PLAIN, samples=2, min_pairs=4, detect=REACHED_TARGET)


def test_cases_with_other_variables_may_differ_in_libraries_only(simulated_workers, monkeypatch):
    monkeypatch.setattr(comparison.traits, "environment", lambda case: {"OPENBLAS_CORETYPE": case.variant})
    monkeypatch.setitem(globals(), "conditions", lambda case, number: {"blas/one.so/architecture": case.variant})
    compare_keys(SLOWER, PLAIN, samples=2, min_pairs=2, detect=REACHED_TARGET)
    monkeypatch.setitem(globals(), "conditions", lambda case, number: {"boost": case.variant})
    with pytest.raises(LadderError, match="The two cases"):
        compare_keys(SLOWER, PLAIN, samples=2, min_pairs=2, detect=REACHED_TARGET)


@pytest.mark.slow
def test_a_doubled_time_is_found():
    result = compare_keys(SLOWER, PLAIN, min_pairs=6, max_pairs=20, detect=0.5)
    assert result.verdict.outcome == "slower"
    assert result.verdict.low < 2.2
    assert result.verdict.high > 1.8


def test_a_halved_time_is_found(simulated_workers):
    result = compare_keys(PLAIN, SLOWER, min_pairs=6, detect=0.5)
    assert result.verdict.outcome == "faster"
    assert result.verdict.low < 0.5 < result.verdict.high


@pytest.mark.slow
def test_the_order_is_abba_and_no_worker_starts_during_a_measurement(measurement_order):
    compare_keys(SLOWER, PLAIN, samples=1, min_pairs=4, detect=REACHED_TARGET)
    variants = ["slower_blas", "blas", "blas", "slower_blas", "blas", "slower_blas", "slower_blas", "blas"]
    assert measurement_order == list(zip(variants, [4] * 4 + [8] * 4, strict=True))


def test_pairs_are_added_up_to_the_limit_while_changes_would_be_missed(simulated_workers):
    result = compare_keys(PLAIN, PLAIN, samples=2, min_pairs=2, max_pairs=6, detect=UNREACHABLE_TARGET)
    assert (result.pair_count, len(simulated_workers)) == (6, 12)


def test_measuring_ends_once_changes_would_be_detected(simulated_workers):
    assert compare_keys(PLAIN, PLAIN, samples=2, min_pairs=6, detect=REACHED_TARGET).pair_count == 6


def test_an_outcome_does_not_end_the_measuring(simulated_workers):
    """A doubled time is evident after six pairs, but measuring continues up to the requested precision."""
    assert compare_keys(SLOWER, PLAIN, min_pairs=6, max_pairs=8, detect=UNREACHABLE_TARGET).pair_count == 8


def test_the_time_limit_ends_the_measuring_after_a_block(simulated_workers):
    """A block is abba: two pairs."""
    assert compare_keys(SLOWER, PLAIN, samples=3, detect=UNREACHABLE_TARGET, cap=0.0).pair_count == 2


def test_paired_and_unpaired_comparisons_have_different_intervals(simulated_workers):
    result = compare_keys(SLOWER, PLAIN, samples=3, min_pairs=8, max_pairs=8, paired=True)
    expected = comparison.compare(result.times["a"], result.times["b"], paired=True)
    assert result.verdict == expected
    assert result.verdict != comparison.compare(result.times["a"], result.times["b"])
    assert "8 pairs of processes, paired" in comparison.report(result)


def test_every_process_takes_all_samples_and_each_case_has_its_own_numba_cache(monkeypatch):
    folders, popen = [], subprocess.Popen
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda *command, env, **options: folders.append(env["NUMBA_CACHE_DIR"]) or popen(*command, env=env, **options),
    )
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    result = compare_keys(SLOWER, PLAIN, samples=7, min_pairs=2, max_pairs=2)
    assert [len(times) for name in "ab" for times in result.times[name]] == [7] * 4
    a, b = folders[:2]
    assert a != b
    assert folders == [a, b, b, a]


def test_the_error_of_a_worker_ends_the_comparison(measurement_order):
    with pytest.raises(LadderError, match="no variant 'nothing'"):
        compare_keys(PLAIN, f"gemm/nothing/{SIZES},threads=1")
    with pytest.raises(LadderError, match="unexpected keyword argument 'blocks'"):
        compare_keys(PLAIN, f"gemm/blas/{SIZES},blocks=1,threads=1")


@pytest.mark.parametrize("key", ["blas", "gemm/blas", f"gemm/blas/{SIZES}/more"])
def test_a_key_has_three_parts(key):
    with pytest.raises(LadderError, match="is not a case"):
        comparison.parse_key(key)


def test_the_values_of_a_key_may_stand_in_any_order():
    key = f"gemm/slower_blas/threads=1,PATH_A=x,cache=warm,percent=100,{SIZES.removesuffix(',cache=warm')}"
    assert comparison.parse_key(key).key == f"{SLOWER},PATH_A=x"


@pytest.mark.parametrize(
    ("words", "variants"),
    [
        (["gemm/tiled", "gemm/blas"], ["tiled", "blas"]),
        (["gemm/blas", "gemm/blas"], ["blas", "blas"]),
    ],
)
def test_the_verb_takes_the_words_of_run(simulated_workers, capsys, words, variants):
    main(["compare", *words, "m=65", "n=65", "k=257", "threads=1", "--samples", "1", "--max-pairs", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("/")[1] for line in lines[:2]] == variants


def test_values_beside_a_whole_key_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["compare", SLOWER, PLAIN, "threads=1"])
    assert "A whole key has all sizes and tunings already" in capsys.readouterr().err


def test_a_training_needs_its_reference():
    sizes = (
        "layers=784-17-10,activation=sigmoid,images=65,batch=17,epochs=1,rate=0.5,dtype=float64,source=digits,seed=1"
    )
    mlp = f"mlp/host/{sizes},cache=warm,product=blas,threads=1"
    with pytest.raises(LadderError, match="is checked against a reference"):
        compare_keys(mlp, mlp)


def test_the_verb_prints_the_verdict_and_writes_every_sample(simulated_workers, capsys, tmp_path):
    main(["compare", SLOWER, PLAIN, "--samples", "3", "--max-pairs", "6", "--json", "found/compared.json"])
    printed = capsys.readouterr().out
    assert "× slower than B: A takes" in printed
    assert "6 pairs of processes, unpaired" in printed
    assert "would have been detected." in printed
    (document,) = json.loads((tmp_path / "found/compared.json").read_text())["results"]
    assert document["cases"] == {"a": SLOWER, "b": PLAIN}
    assert (document["outcome"], document["pairs"]) == ("slower", 6)
    assert [len(times) for times in document["times"]["b"]] == [3] * 6


@pytest.mark.parametrize(
    ("outcome", "low", "high", "words"),
    [
        ("slower", 1.2, 1.4, "A is 1.30 × slower than B: A takes 1.30 times as long as B, 99 % interval 1.20 to 1.40"),
        ("equal", 0.985, 1.03, "A is equal to B within 3 %: A takes"),
        ("undecided", 0.8, 1.3, "A and B do not differ significantly: A takes"),
    ],
)
def test_the_report_has_a_sentence_for_every_outcome(outcome, low, high, words):
    times, cases = {"a": [[1.0]], "b": [[1.0]]}, {"a": comparison.parse_key(PLAIN), "b": comparison.parse_key(SLOWER)}
    result = comparison.Comparison(cases, times, False, Verdict(outcome, (low + high) / 2, low, high, 0.123))
    printed = comparison.report(result)
    assert words in printed
    assert "A  1.00 s  gemm/blas/" in printed
    assert "A difference of 12 % would have been detected." in printed


@pytest.mark.parametrize(
    ("detectable", "words"), [(3.1, "Only a factor of 4.1"), (math.inf, "With one process, no dif")]
)
def test_a_large_detectable_difference_is_reported_as_a_factor(detectable, words):
    case = comparison.parse_key(PLAIN)
    verdict = Verdict("undecided", 1.0, 0.2, 5.0 if math.isfinite(detectable) else math.inf, detectable)
    printed = comparison.report(
        comparison.Comparison({"a": case, "b": case}, {"a": [[1.0]], "b": [[1.0]]}, False, verdict)
    )
    assert printed.splitlines()[-1].startswith(words)


@pytest.mark.parametrize(("option", "minimum"), [("--samples", 1), ("--max-pairs", 2)])
@pytest.mark.parametrize("text", ["0", "-1", "two", "below"])
def test_counts_start_at_one_and_pairs_at_two(option, minimum, text, capsys):
    with pytest.raises(SystemExit):
        main(["compare", PLAIN, PLAIN, option, str(minimum - 1) if text == "below" else text])
    assert f"not an integer of at least {minimum}" in capsys.readouterr().err


@pytest.mark.parametrize(("cap", "pairs"), [(5.0, 2), (25.0, 4), (35.0, 6)])
def test_no_block_starts_that_would_exceed_the_time_limit(cap, pairs, simulated_workers, monkeypatch):
    """Each block takes 10 s of a simulated clock."""
    clock, measure_block = [0.0], comparison.measure_block

    def measure_slowly(*arguments):
        clock[0] += 10.0
        measure_block(*arguments)

    monkeypatch.setattr(comparison, "measure_block", measure_slowly)
    monkeypatch.setattr(comparison, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert compare_keys(PLAIN, PLAIN, samples=2, detect=UNREACHABLE_TARGET, cap=cap).pair_count == pairs


@pytest.mark.parametrize(("path", "sentence"), [(".", "is a folder"), ("file/x.json", "x.json can't be written")])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    path, sentence, simulated_workers, capsys
):
    Path("file").touch()
    with pytest.raises(SystemExit):
        main(["compare", SLOWER, PLAIN, "--json", path])
    assert sentence in capsys.readouterr().err
    assert not simulated_workers


def test_testing_whether_a_file_can_be_written_leaves_nothing(tmp_path):
    files.require_writable("a/b/found.json")
    assert not list(tmp_path.iterdir())


def interrupt_after(monkeypatch, count):
    """Press Ctrl-C during the measurement that follows the first `count` ones."""
    go, calls = comparison.Worker.go, []

    def interrupt(worker, variables=None):
        calls.append(worker)
        if len(calls) > count:
            raise KeyboardInterrupt
        return go(worker, variables)

    monkeypatch.setattr(comparison.Worker, "go", interrupt)


@pytest.mark.parametrize(("count", "paired", "processes"), [(5, False, (3, 2)), (5, True, (2, 2)), (2, False, (1, 1))])
def test_ctrl_c_gives_the_verdict_so_far(simulated_workers, monkeypatch, capsys, count, paired, processes):
    """After `count` measurements in the order abba: `processes` are those of A and B, if paired in complete pairs."""
    monkeypatch.setattr(comparison, "BLOCKS", ("abba", "abba"))
    interrupt_after(monkeypatch, count)
    with pytest.raises(SystemExit) as ended:
        main(["compare", SLOWER, PLAIN, "--samples", "3", "--json", "c.json", *(["--paired"] if paired else [])])
    assert ended.value.code == 130
    printed = capsys.readouterr().out
    assert printed.startswith("Interrupted: this is the comparison so far.\n")
    assert "would have been detected." in printed
    (document,) = json.loads(Path("c.json").read_text(encoding="utf-8"))["results"]
    assert document["interrupted"] is True
    assert (len(document["times"]["a"]), len(document["times"]["b"])) == processes


def test_ctrl_c_before_both_cases_have_a_process_is_a_sentence(simulated_workers, monkeypatch, capsys):
    interrupt_after(monkeypatch, 1)
    with pytest.raises(SystemExit) as ended:
        main(["compare", SLOWER, PLAIN, "--json", "c.json"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "ladder compare: Interrupted.\n"
    assert not Path("c.json").exists()


def test_every_block_is_reported(simulated_workers, capsys):
    main(["compare", SLOWER, PLAIN, "--samples", "3", "--max-pairs", "4"])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["2 pairs", "4 pairs"]
    assert "A takes 2" in lines[1]
    assert "would be detected, target 5 %" in lines[1]


def test_pairs_are_measured_in_whole_blocks_within_the_limit(simulated_workers):
    assert compare_keys(PLAIN, PLAIN, samples=2, max_pairs=5, detect=UNREACHABLE_TARGET).pair_count == 4


def test_the_verb_compares_in_pairs_if_requested(simulated_workers, capsys, tmp_path):
    line = ["compare", SLOWER, PLAIN, "--samples", "3", "--max-pairs", "8", "--json", "found.json"]
    for options, paired in ((["--paired"], True), ([], False)):
        main([*line, *options])
        (document,) = json.loads((tmp_path / "found.json").read_text())["results"]
        verdicts = [comparison.compare(*document["times"].values(), paired=value) for value in (paired, not paired)]
        assert document["paired"] is paired
        assert (
            [document["low"], document["high"]]
            == [verdicts[0].low, verdicts[0].high]
            != [verdicts[1].low, verdicts[1].high]
        )
        assert [document[name] for name in ("ratio", "detectable")] == [verdicts[0].ratio, verdicts[0].detectable]
        printed = capsys.readouterr().out
        assert f"pairs of processes, {'paired' if paired else 'unpaired'})" in printed
        for name, key in (("a", SLOWER), ("b", PLAIN)):
            assert f"{name.upper()}  {seconds(np.median(document['times'][name]))}  {key}\n" in printed
        assert f"{digits(document['low'])} to {digits(document['high'])}" in printed
