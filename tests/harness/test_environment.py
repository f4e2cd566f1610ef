"""The environment of workers and of computing verbs, which is built and not inherited."""

import os
import sys

import pytest

from ladder.build import compilation
from ladder.catalogue import soundness, workloads
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.machine import processes
from ladder.records.case import Case

SIZES = workloads.complete("gemv", {"n": 5, "m": 3})


def case(variant="openmp", tuning=None, **variables):
    """A case of gemv on two threads; `variables` are environment variables that the configuration names."""
    return Case("gemv", variant, SIZES, {"threads": 2} | (tuning or {}), variables=variables)


def test_a_worker_has_the_variables_of_device_variant_and_case_but_not_the_users(monkeypatch):
    user_variables = {
        "OMP_NUM_THREADS": "7",
        "OMP_PROC_BIND": "close",
        "OMP_THREAD_LIMIT": "1",
        "NUMBA_OPT": "0",
        "ANY": "x",
    }
    for name, value in user_variables.items():
        monkeypatch.setenv(name, value)
    plain = environment.of_worker(case())
    assert [plain.get(name) for name in user_variables] == ["2", "false", None, None, None]
    assert plain["PATH"] == os.environ["PATH"]
    bound = environment.of_worker(case("openmp_bound", {"binding": "spread"}))
    assert (bound["OMP_NUM_THREADS"], bound["OMP_PROC_BIND"]) == ("2", "spread")
    assert environment.of_worker(case(NUMBA_OPT="1", ANY="y")).items() >= {"NUMBA_OPT": "1", "ANY": "y"}.items()
    prelude = {"UCX_TLS": "tcp", "OMP_NUM_THREADS": "9"}
    assert environment.of_worker(case(), prelude).items() >= {"UCX_TLS": "tcp", "OMP_NUM_THREADS": "2"}.items()


def test_numba_has_a_cache_for_each_set_of_its_variables():
    environments = [
        environment.of_worker(item) for item in (case(), case(ANY="x"), case(NUMBA_OPT="0"), case(NUMBA_OPT="1"))
    ]
    folders = [variables["NUMBA_CACHE_DIR"] for variables in environments]
    assert folders[0] == folders[1] == str(compilation.folder(case()))
    assert len({*folders}) == 3
    assert environment.of_worker(case(), {"NUMBA_OPT": "0"})["NUMBA_CACHE_DIR"] == folders[2]
    states = [compilation.compiler_inputs(case(), variables) for variables in environments]
    assert states[0] == states[1]
    assert states[0] != states[2] != states[3]
    assert compilation.note_name(case()) != compilation.note_name(case(NUMBA_OPT="0"))


@pytest.mark.parametrize(
    "name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "PATH", "LADDER_NODES"]
)
def test_variables_that_contradict_the_case_are_refused(name):
    with pytest.raises(LadderError, match=f"{name} can't be named by the key `environment`"):
        soundness.require_sound(case(**{name: "1"}))
    with pytest.raises(LadderError, match="OMP_PROC_BIND is set by the variant gemv/openmp_bound"):
        soundness.require_sound(case("openmp_bound", {"binding": "spread"}, OMP_PROC_BIND="close"))


def test_a_settings_file_of_numba_in_the_working_directory_is_refused(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    environment.of_worker(case())
    (tmp_path / ".numba_config.yaml").write_text("opt: 0\n")
    with pytest.raises(LadderError, match=r"numba_config.yaml would change how Numba compiles"):
        environment.of_worker(case())


def test_a_computing_verb_restarts_in_its_own_environment(monkeypatch):
    calls = []
    monkeypatch.setattr(os, "execve", lambda *words: calls.append(words))
    monkeypatch.setattr(os, "environ", {"PATH": "/bin", "NPY_DISABLE_CPU_FEATURES": "AVX2"})
    variables = environment.of_verb(3)
    assert variables.items() >= {"PATH": "/bin", "OPENBLAS_NUM_THREADS": "3"}.items()
    assert "NPY_DISABLE_CPU_FEATURES" not in variables
    monkeypatch.setattr(processes, "job_variables", {"LADDER_PARENT": "1"})  # the job still belongs to its run
    environment.enter(variables)
    assert calls == [(sys.executable, [sys.executable, *sys.orig_argv[1:]], variables | {"LADDER_PARENT": "1"})]
    monkeypatch.setattr(os, "environ", variables)
    environment.enter(environment.of_verb(3))
    assert len(calls) == 1
