"""Untimed checks of new variants at small odd sizes on two threads."""

import pytest

from conftest import TESTS
from ladder.__main__ import main
from ladder.harness import spot_checks
from ladder.harness.case_arguments import cases_of

# Right if m is a multiple of 4; otherwise the remaining rows are 0.
VARIANT = """
import numpy as np

DEVICE = "host"
RUNTIME = "blas"
{limits}

def setup(problem, *, threads: int):
    rows = problem.a.shape[0] // 4 * 4
    {setup_statement}

    def run():
        np.matmul(problem.a[:rows], problem.b, out=problem.out[:rows])
        problem.out[rows:] = 0

    return run
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A working directory, and a user's folder for variants, which is returned."""
    (tmp_path / "mine/gemm").mkdir(parents=True)
    monkeypatch.setenv("LADDER_VARIANTS", f"{tmp_path / 'mine'}:{TESTS / 'variants'}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spot_checks.cpus, "cores", lambda: 2)
    return tmp_path / "mine/gemm"


def write_variant(folder, limits="", setup_statement="", name="without_remainder"):
    """Write a variant that forgets the remaining rows."""
    (folder / f"{name}.py").write_text(VARIANT.format(limits=limits, setup_statement=setup_statement))


def spot_case_of(*words):
    """The small case that is checked in addition to the case of a command line."""
    (case,) = cases_of(words)
    return spot_checks.spot_case(case)


def test_sizes_are_odd_and_never_larger_and_threads_are_two(folder):
    write_variant(folder)
    spot = spot_case_of("gemm/without_remainder", "m=512", "n=64", "k=3")
    assert [spot.sizes[name] for name in "mnk"] == [197, 63, 3]  # 197 is the first of `spot_checks.PRIMES`
    assert spot.tuning == {"threads": 2}
    assert spot_case_of("gemm/without_remainder", "m=512", "n=64", "k=3", "threads=3").tuning == {"threads": 3}


def test_rungs_and_excluded_sizes_have_no_spot_check(folder):
    write_variant(folder, 'LIMITS = {"m": (256, 1024)}', name="limited")
    assert spot_case_of("gemm/tiled", "m=512", "n=64", "k=3") is None
    assert spot_case_of("gemm/limited", "m=512", "n=64", "k=3") is None


def test_a_forgotten_remainder_is_reported_although_the_timed_size_has_none(folder, capsys):
    write_variant(folder)
    with pytest.raises(SystemExit) as ended:
        main(["run", "gemm/without_remainder", "m=64", "n=8", "k=8", "--quick", "--processes", "2"])
    printed = capsys.readouterr()
    assert ended.value.code == 1
    sentence = "gemm/without_remainder: An untimed check at m=63 n=7 k=7 threads=2 failed: The result is wrong"
    assert sentence in printed.err
    assert sentence in printed.out
    assert "wrong  gemm/without_remainder" in printed.out, "it is timed nevertheless, but has no rank"
    assert "gemm/without_remainder: " in printed.err
    assert "right on 1 thread here, but not in its untimed check" in printed.err


def test_an_exception_at_the_small_sizes_is_reported(folder, capsys):
    write_variant(folder, setup_statement='if problem.a.shape[0] % 2:\n        raise ValueError("m must be even")')
    with pytest.raises(SystemExit):
        main(["run", "gemm/without_remainder", "m=64", "n=8", "k=8", "--quick", "--processes", "2"])
    assert "m must be even" in capsys.readouterr().out
