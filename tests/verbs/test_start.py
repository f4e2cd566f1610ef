"""A job imports only the libraries that its verb uses, because imports take most of a short job's time."""

import os
import runpy
import subprocess
import sys

import pytest

from conftest import ROOT
from ladder.machine import processes

SLOW_LIBRARIES = ("jsonschema", "matplotlib", "numba", "pandas", "requests", "scipy", "seaborn", "sklearn", "torch")
# Prints the libraries that are loaded once a module is imported.
PROGRAM = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize(
    ("module", "slow_libraries"),
    [
        ("verbs.build", set()),
        ("verbs.ceilings", set()),
        ("verbs.collect", {"pandas"}),
        ("verbs.figure", {"pandas"}),
        ("verbs.measure", set()),
        ("verbs.paper", set()),
        ("verbs.precompile", set()),
        ("harness.worker", set()),
    ],
)
def test_a_job_imports_at_first_only_the_slow_libraries_that_it_uses(module, slow_libraries):
    line = [sys.executable, "-c", PROGRAM, f"ladder.{module}"]
    modules = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    assert set(SLOW_LIBRARIES) & set(modules) == slow_libraries


def exit_status_of_describe(monkeypatch):
    """The exit status of the command line with the verb `describe`, whose function some tests replace."""
    monkeypatch.setattr(sys, "argv", ["ladder", "describe", "--out", "x.json"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("ladder", run_name="__main__")
    return end.value.code


def test_modules_in_the_working_folder_replace_none_of_python_s(tmp_path):
    for name in ("argparse", "json", "numbers", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('from the working folder')")
    line = [sys.executable, "-m", "ladder", "measure", "--help"]
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    assert "usage" in subprocess.run(line, cwd=tmp_path, env=variables, capture_output=True, text=True).stdout


def press_ctrl_c(options):
    raise KeyboardInterrupt


def test_ctrl_c_ends_a_verb_with_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr("ladder.verbs.describe.run", press_ctrl_c)
    assert exit_status_of_describe(monkeypatch) == 130
    assert capsys.readouterr().err == "ladder describe: Interrupted.\n"


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), BlockingIOError(11, "unavailable")])
def test_a_limit_of_processes_ends_a_verb_with_a_sentence(monkeypatch, capsys, error):
    def run(options):
        raise error

    monkeypatch.setattr("ladder.verbs.describe.run", run)
    assert exit_status_of_describe(monkeypatch) == 1
    assert capsys.readouterr().err.startswith("ladder describe: No more processes and threads can be started")


def test_an_interrupt_of_openblas_is_told_from_ctrl_c(monkeypatch, capsys):
    """OpenBLAS interrupts its process if it can't start a thread."""
    monkeypatch.setattr(processes, "can_start_thread", lambda: False)
    monkeypatch.setattr("ladder.verbs.describe.run", press_ctrl_c)
    assert exit_status_of_describe(monkeypatch) == 130
    assert capsys.readouterr().err.startswith("ladder describe: No more processes and threads can be started")


def test_a_working_folder_whose_name_is_not_utf_8_is_refused(monkeypatch, capsys, tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert exit_status_of_describe(monkeypatch) == 1
    assert r"caf\xe9 isn't UTF-8: rename the folder" in capsys.readouterr().err
    assert not list(folder.iterdir())
