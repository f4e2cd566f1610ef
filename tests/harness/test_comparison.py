"""Comparing two cases, with real workers and slowdowns planted by a variant outside the repository."""

import json
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
from ladder.records import files
from ladder.statistics.verdicts import Verdict

SIZES = "form=nn,m=65,n=65,k=257,dtype=float64,source=random,seed=1,cache=warm"
PLAIN = f"gemm/blas/{SIZES},threads=1"
TWICE = f"gemm/slower_blas/{SIZES},percent=100,threads=1"


@pytest.fixture(autouse=True)
def outside(monkeypatch, tmp_path):
    """Variants of the tests' own, and a working folder for compiled code."""
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def order(monkeypatch):
    """The variants of all workers in the order in which they measured, and how many started before each measured."""
    started, measured = [], []

    class Watched(Worker):
        def __init__(self, case, *others):
            assert sum(one.process.poll() is None for one in started) < 4, "more workers than one block's"
            super().__init__(case, *others)
            started.append(self)

        def go(self, variables=None):
            measured.append((self.case.variant, len(started)))
            return super().go(variables)

    monkeypatch.setattr(comparison, "Worker", Watched)
    yield measured
    assert all(one.process.poll() is not None for one in started), "a worker was left running"


@pytest.fixture
def simulated(monkeypatch):
    """Workers that start no process, and whose times are made up: twice as long where that was planted.

    Their conditions are what a test has put in the place of `conditions`.
    """
    measured, generator = [], np.random.default_rng(1)

    class Simulated:
        def __init__(self, case, protocol, *others):
            self.case, self.count = case, protocol["samples"]

        def go(self, variables=None):
            measured.append(self)
            seconds = 2e-3 if self.case.variant == "slower_blas" else 1e-3
            samples = list(seconds * generator.uniform(0.98, 1.02) * generator.uniform(0.99, 1.01, self.count))
            return {"samples": samples, "system": conditions(self.case, len(measured))}

        def wait_ready(self):
            """It is."""

        stop = wait_ready

    monkeypatch.setattr(comparison, "Worker", Simulated)
    return measured


def conditions(case, number):
    """The conditions of a simulated worker, by its case and its number from 1 on."""
    return {"smt": "1"}


def compared(a, b, **options):
    return comparison.compare_cases(comparison.parse_key(a), comparison.parse_key(b), **options)


@pytest.mark.parametrize(
    ("made_up", "refusal"),
    [
        (lambda case, number: {"smt": "1" if number < 8 else "0"}, r"The processes of case B .*smt \(1 and 0\)"),
        (lambda case, number: {"boost": case.variant}, r"The two cases .*boost \(slower_blas and blas\)"),
        (lambda case, number: {f"blas/{case.variant}.so/version": "1"}, None),  # one side loads another library
        (lambda case, number: {"blas/one.so/architecture": case.variant}, "The two cases"),
    ],
)
def test_processes_under_different_conditions_are_not_compared(simulated, monkeypatch, made_up, refusal):
    monkeypatch.setitem(globals(), "conditions", made_up)
    if refusal is None:
        found = compared(TWICE, PLAIN, samples=2, pairs=4, detect=1e9)
        assert found.conditions["b"] == {"blas/blas.so/version": "1"}
        return
    with pytest.raises(LadderError, match=refusal):
        compared(TWICE, PLAIN, samples=2, pairs=4, detect=1e9)


def test_variables_of_a_variant_may_have_its_libraries_differ_but_not_the_machine(simulated, monkeypatch):
    monkeypatch.setattr(comparison.workloads, "environment", lambda case: {"OPENBLAS_CORETYPE": case.variant})
    monkeypatch.setitem(globals(), "conditions", lambda case, number: {"blas/one.so/architecture": case.variant})
    compared(TWICE, PLAIN, samples=2, pairs=2, detect=1e9)
    monkeypatch.setitem(globals(), "conditions", lambda case, number: {"boost": case.variant})
    with pytest.raises(LadderError, match="The two cases"):
        compared(TWICE, PLAIN, samples=2, pairs=2, detect=1e9)


@pytest.mark.slow
def test_a_doubled_time_is_found():
    found = compared(TWICE, PLAIN, pairs=6, max_pairs=20, detect=0.5)
    assert found.verdict.outcome == "slower"
    assert found.verdict.low < 2.2
    assert found.verdict.high > 1.8


def test_a_halved_time_is_found(simulated):
    found = compared(PLAIN, TWICE, pairs=6, detect=0.5)
    assert found.verdict.outcome == "faster"
    assert found.verdict.low < 0.5 < found.verdict.high


def test_the_order_is_abba_and_no_worker_starts_during_a_measurement(order):
    compared(TWICE, PLAIN, samples=1, pairs=4, detect=1e9)
    variants = ["slower_blas", "blas", "blas", "slower_blas", "blas", "slower_blas", "slower_blas", "blas"]
    assert order == list(zip(variants, [4] * 4 + [8] * 4, strict=True))


def test_it_goes_on_while_changes_would_be_missed_up_to_the_limit(simulated):
    found = compared(PLAIN, PLAIN, samples=2, pairs=2, max_pairs=6, detect=0.0)
    assert (found.pairs, len(simulated)) == (6, 12)


def test_it_ends_with_the_pairs_once_changes_would_show(simulated):
    assert compared(PLAIN, PLAIN, samples=2, pairs=6, detect=1e9).pairs == 6


def test_it_does_not_end_on_an_outcome(simulated):
    """A doubled time is evident after six pairs, and still measured to the requested precision."""
    assert compared(TWICE, PLAIN, pairs=6, max_pairs=8, detect=0.0).pairs == 8


def test_time_that_is_up_ends_it_after_a_block(simulated):
    assert compared(TWICE, PLAIN, samples=3, detect=0.0, cap=0.0).pairs == 2


def test_paired_and_unpaired_go_by_their_own_interval(simulated):
    found = compared(TWICE, PLAIN, samples=3, pairs=8, max_pairs=8, paired=True)
    expected = comparison.compare(found.times["a"], found.times["b"], paired=True)
    assert found.verdict == expected
    assert found.verdict != comparison.compare(found.times["a"], found.times["b"])
    assert "8 pairs of processes, paired" in comparison.report(found)


def test_every_process_gives_the_samples_asked_for_by_the_compiled_code_of_its_own_sources(monkeypatch):
    seen, popen = [], subprocess.Popen
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda *command, env, **options: seen.append(env["NUMBA_CACHE_DIR"]) or popen(*command, env=env, **options),
    )
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    found = compared(TWICE, PLAIN, samples=7, pairs=2, max_pairs=2)
    assert [len(times) for name in "ab" for times in found.times[name]] == [7] * 4
    a, b = seen[:2]
    assert a != b
    assert seen == [a, b, b, a]


def test_a_failing_worker_ends_it_with_its_sentence(order):
    with pytest.raises(LadderError, match="no variant 'nothing'"):
        compared(PLAIN, f"gemm/nothing/{SIZES},threads=1")
    with pytest.raises(LadderError, match="unexpected keyword argument 'blocks'"):
        compared(PLAIN, f"gemm/blas/{SIZES},blocks=1,threads=1")


@pytest.mark.parametrize("key", ["blas", "gemm/blas", f"gemm/blas/{SIZES}/more"])
def test_a_case_is_named_by_its_three_parts(key):
    with pytest.raises(LadderError, match="is not a case"):
        comparison.parse_key(key)


def test_a_training_needs_its_reference():
    sizes = (
        "layers=784-17-10,activation=sigmoid,images=65,batch=17,epochs=1,rate=0.5,dtype=float64,source=digits,seed=1"
    )
    mlp = f"mlp/host/{sizes},cache=warm,product=blas,threads=1"
    with pytest.raises(LadderError, match="is checked against a reference"):
        compared(mlp, mlp)


def test_the_verb_prints_the_verdict_and_writes_every_sample(simulated, capsys, tmp_path):
    main(["compare", TWICE, PLAIN, "--samples", "3", "--max-pairs", "6", "--json", "found/compared.json"])
    printed = capsys.readouterr().out
    assert "A is slower than B: A takes" in printed
    assert "6 pairs of processes, unpaired" in printed
    assert "would have been detected." in printed
    found = json.loads((tmp_path / "found/compared.json").read_text())
    assert found["cases"] == {"a": TWICE, "b": PLAIN}
    assert (found["outcome"], found["pairs"]) == ("slower", 6)
    assert [len(times) for times in found["times"]["b"]] == [3] * 6


@pytest.mark.parametrize(
    ("outcome", "low", "high", "words"),
    [
        ("slower", 1.2, 1.4, "A is slower than B: A takes"),
        ("equal", 0.985, 1.03, "A is equal to B within 3 %: A takes"),
        ("undecided", 0.8, 1.3, "A and B do not differ significantly: A takes"),
    ],
)
def test_the_report_has_a_sentence_for_every_outcome(outcome, low, high, words):
    times, cases = {"a": [[1.0]], "b": [[1.0]]}, {"a": comparison.parse_key(PLAIN), "b": comparison.parse_key(TWICE)}
    found = comparison.Comparison(cases, times, False, Verdict(outcome, 1.0, low, high, 0.123))
    printed = comparison.report(found)
    assert words in printed
    assert "A difference of 12.3 % would have been detected." in printed


@pytest.mark.parametrize(("option", "least"), [("--samples", 1), ("--max-pairs", 2)])
@pytest.mark.parametrize("text", ["0", "-1", "two", "below"])
def test_counts_start_at_one_and_pairs_at_two(option, least, text, capsys):
    with pytest.raises(SystemExit):
        main(["compare", PLAIN, PLAIN, option, str(least - 1) if text == "below" else text])
    assert f"not an integer of at least {least}" in capsys.readouterr().err


@pytest.mark.parametrize(("cap", "pairs"), [(5.0, 2), (25.0, 4), (35.0, 6)])
def test_no_block_is_begun_that_would_go_beyond_the_time(cap, pairs, simulated, monkeypatch):
    """Every block takes 10 s."""
    clock, measure_block = [0.0], comparison.measure_block

    def slow(*given):
        clock[0] += 10.0
        measure_block(*given)

    monkeypatch.setattr(comparison, "measure_block", slow)
    monkeypatch.setattr(comparison, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert compared(PLAIN, PLAIN, samples=2, detect=0.0, cap=cap).pairs == pairs


@pytest.mark.parametrize(("path", "sentence"), [(".", "is a folder"), ("file/x.json", "x.json can't be written")])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(path, sentence, simulated, capsys):
    Path("file").touch()
    with pytest.raises(SystemExit):
        main(["compare", TWICE, PLAIN, "--json", path])
    assert sentence in capsys.readouterr().err
    assert not simulated


def test_to_ask_whether_a_file_can_be_written_leaves_nothing(tmp_path):
    files.require_writable("a/b/found.json")
    assert not list(tmp_path.iterdir())


def test_an_odd_pair_that_would_be_one_too_many_is_not_measured(simulated):
    assert compared(PLAIN, PLAIN, samples=2, max_pairs=5, detect=0.0).pairs == 4


def test_the_verb_compares_pair_by_pair_where_it_is_asked_to(simulated, capsys, tmp_path):
    line = ["compare", TWICE, PLAIN, "--samples", "3", "--max-pairs", "8", "--json", "found.json"]
    for options, paired in ((["--paired"], True), ([], False)):
        main([*line, *options])
        found = json.loads((tmp_path / "found.json").read_text())
        ways = [comparison.compare(*found["times"].values(), paired=way) for way in (paired, not paired)]
        assert found["paired"] is paired
        assert [found["low"], found["high"]] == [ways[0].low, ways[0].high] != [ways[1].low, ways[1].high]
        assert [found[name] for name in ("ratio", "detectable")] == [ways[0].ratio, ways[0].detectable]
        printed = capsys.readouterr().out
        assert f"pairs of processes, {'paired' if paired else 'unpaired'})" in printed
        for name, key in (("a", TWICE), ("b", PLAIN)):
            assert f"{name.upper()}  {np.median(found['times'][name]):.4g} s  {key}\n" in printed
        assert f"{found['low']:.4f} to {found['high']:.4f}" in printed
