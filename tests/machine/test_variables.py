"""The variables that a measurement inherits, and those of a cluster's prelude."""

import os
import subprocess

import pytest

from ladder.errors import LadderError
from ladder.machine import variables

# At least one variable of each family, and others that are in no family.
DROPPED_NAMES = (
    "NUMBA_OPT OMP_THREAD_LIMIT GOMP_CPU_AFFINITY KMP_AFFINITY OPENBLAS_CORETYPE MKL_DYNAMIC BLIS_IR_NT "
    "NPY_DISABLE_CPU_FEATURES MPICH_ASYNC_PROGRESS MPIR_CVAR_PMI_VERSION OMPI_MCA_btl UCX_TLS FI_PROVIDER HYDRA_RMK "
    "PMI_RANK PMIX_RANK CUDA_LAUNCH_BLOCKING CUBLAS_WORKSPACE_CONFIG NVIDIA_TF32_OVERRIDE CUPY_CACHE_DIR NCCL_ALGO "
    "PYTORCH_CUDA_ALLOC_CONF TORCHINDUCTOR_MAX_AUTOTUNE MALLOC_ARENA_MAX GLIBC_TUNABLES LD_PRELOAD LD_BIND_NOW "
    "PYTHONMALLOC PYTHONOPTIMIZE LANG LANGUAGE LC_NUMERIC MPLBACKEND GIT_DIR CPATH ANYTHING"
).split()
INHERITED_NAMES = (
    "PATH HOME LD_LIBRARY_PATH PYTHONPATH CUDA_VISIBLE_DEVICES SLURM_JOB_ID SLURMD_NODENAME LADDER_VARIANTS"
).split()


def test_a_measurement_inherits_only_variables_for_files_jobs_and_gpus():
    caller_variables = dict.fromkeys([*DROPPED_NAMES, *INHERITED_NAMES], "x") | {
        "LC_ALL": "de_DE.UTF-8",
        "PYTHONUTF8": "0",
        "PYTHONSAFEPATH": "",
    }
    fixed_variables = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONSAFEPATH": "1"}
    assert variables.inherited(caller_variables) == dict.fromkeys(INHERITED_NAMES, "x") | fixed_variables


@pytest.mark.parametrize(
    "user_variables", [{}, {"NUMBA_OPT": "0", "OMP_THREAD_LIMIT": "1", "UCX_TLS": "tcp", "LD_PRELOAD": ""}]
)
def test_variables_of_a_prelude_come_from_the_prelude_alone(monkeypatch, user_variables):
    script = f"set -u; {variables.unset_runtime_variables()}\nexport UCX_NET_DEVICES=mlx5; exec env -0"
    inherited = {"PATH": os.environ["PATH"], "PYTHONPATH": "/x", "PYTHONSAFEPATH": "1", "CUDA_VISIBLE_DEVICES": "1"}
    result = subprocess.run(
        ["bash", "-c", script], env=inherited | user_variables, capture_output=True, text=True, check=True
    )
    environment = dict(line.split("=", 1) for line in filter(None, result.stdout.split("\0")))
    assert inherited.items() <= environment.items()
    monkeypatch.setattr(os, "environ", environment)
    assert variables.of_prelude() == {"UCX_NET_DEVICES": "mlx5"}


def test_a_record_has_variables_that_may_matter_and_no_private_ones():
    worker = {"HOME": "/home/kim", "USER": "kim", "PATH": "/bin", "SLURM_JOB_ID": "1", "OMP_NUM_THREADS": "2", "A": "b"}
    assert variables.variables_to_record(worker) == {"A": "b", "OMP_NUM_THREADS": "2"}


@pytest.mark.parametrize("text", ["0", "x", "", "-1", "1.5", "²", "9" * 5000])
def test_an_invalid_number_of_nodes_is_refused(monkeypatch, text):
    monkeypatch.setenv("LADDER_NODES", text)
    with pytest.raises(LadderError, match=r"LADDER_NODES='.*' isn't a number of nodes: unset it"):
        variables.nodes()


def test_a_case_runs_on_one_node_by_default(monkeypatch):
    monkeypatch.delenv("LADDER_NODES", raising=False)
    assert variables.nodes() == 1
    monkeypatch.setenv("LADDER_NODES", "12")
    assert variables.nodes() == 12
