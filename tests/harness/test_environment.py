"""The environment of workers, and of verbs that compute: built, not inherited."""

import os
import sys

import pytest

from ladder.build import compilation
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.machine import processes
from ladder.records.case import Case

SIZES = workloads.complete("gemv", {"n": 5, "m": 3})


def case(variant="openmp", tuning=None, **variables):
    return Case("gemv", variant, SIZES, {"threads": 2} | (tuning or {}), variables=variables)


def test_a_worker_has_what_its_device_its_variant_and_its_case_set_and_nothing_of_the_user_s(monkeypatch):
    of_user = {"OMP_NUM_THREADS": "7", "OMP_PROC_BIND": "close", "OMP_THREAD_LIMIT": "1", "NUMBA_OPT": "0", "ANY": "x"}
    for name, value in of_user.items():
        monkeypatch.setenv(name, value)
    plain = environment.of_worker(case())
    assert [plain.get(name) for name in of_user] == ["2", "false", None, None, None]
    assert plain["PATH"] == os.environ["PATH"]
    bound = environment.of_worker(case("openmp_bound", {"binding": "spread"}))
    assert (bound["OMP_NUM_THREADS"], bound["OMP_PROC_BIND"]) == ("2", "spread")
    assert environment.of_worker(case(NUMBA_OPT="1", ANY="y")).items() >= {"NUMBA_OPT": "1", "ANY": "y"}.items()
    prelude = {"UCX_TLS": "tcp", "OMP_NUM_THREADS": "9"}
    assert environment.of_worker(case(), prelude).items() >= {"UCX_TLS": "tcp", "OMP_NUM_THREADS": "2"}.items()


def test_what_numba_compiles_under_other_variables_is_kept_apart():
    made = [environment.of_worker(one) for one in (case(), case(ANY="x"), case(NUMBA_OPT="0"), case(NUMBA_OPT="1"))]
    folders = [one["NUMBA_CACHE_DIR"] for one in made]
    assert folders[0] == folders[1] == str(compilation.folder(case()))
    assert len({*folders}) == 3
    assert environment.of_worker(case(), {"NUMBA_OPT": "0"})["NUMBA_CACHE_DIR"] == folders[2]
    states = [compilation.state(case(), one) for one in made]
    assert states[0] == states[1]
    assert states[0] != states[2] != states[3]
    assert compilation.note_name(case()) != compilation.note_name(case(NUMBA_OPT="0"))


@pytest.mark.parametrize(
    "name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "PATH", "LADDER_NODES"]
)
def test_a_variable_that_would_belie_the_case_cannot_be_named(name):
    with pytest.raises(LadderError, match=f"{name} can't be named by the key `environment`"):
        workloads.require_sound(case(**{name: "1"}))
    with pytest.raises(LadderError, match="OMP_PROC_BIND is set by the variant gemv/openmp_bound"):
        workloads.require_sound(case("openmp_bound", {"binding": "spread"}, OMP_PROC_BIND="close"))


def test_a_file_of_numba_s_in_the_working_directory_is_refused(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    environment.of_worker(case())
    (tmp_path / ".numba_config.yaml").write_text("opt: 0\n")
    with pytest.raises(LadderError, match=r"numba_config.yaml would change how Numba compiles"):
        environment.of_worker(case())


def test_a_verb_that_computes_starts_again_in_its_own_environment(monkeypatch):
    began = []
    monkeypatch.setattr(os, "execve", lambda *words: began.append(words))
    monkeypatch.setattr(os, "environ", {"PATH": "/bin", "NPY_DISABLE_CPU_FEATURES": "AVX2"})
    made = environment.of_verb(3)
    assert made.items() >= {"PATH": "/bin", "OPENBLAS_NUM_THREADS": "3"}.items()
    assert "NPY_DISABLE_CPU_FEATURES" not in made
    monkeypatch.setattr(processes, "run_parents", {"LADDER_PARENT": "1"})  # it stays a job of its run
    environment.enter(made)
    assert began == [(sys.executable, [sys.executable, *sys.orig_argv[1:]], made | {"LADDER_PARENT": "1"})]
    monkeypatch.setattr(os, "environ", made)
    environment.enter(environment.of_verb(3))
    assert len(began) == 1
