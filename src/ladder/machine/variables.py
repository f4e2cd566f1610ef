"""The environment variables that a measurement inherits; all others are dropped, or set by its case.

Runtimes read hundreds of variables that affect a measurement, such as `OMP_THREAD_LIMIT`, `OPENBLAS_CORETYPE` or
`LD_PRELOAD`. No list of them would be complete, so this module lists the variables that a process needs to find its
files, its job and its GPUs. Three more are fixed: the encoding is UTF-8, messages are English, and Python never imports
from the working folder.
"""

import os
import re
from collections.abc import Mapping

from ladder.errors import LadderError

# Where programs, libraries and a user's files are.
LOCATION_VARIABLES = (
    "PATH HOME USER LOGNAME SHELL TERM TMPDIR LD_LIBRARY_PATH PYTHONHOME PYTHONPATH PYTHONUNBUFFERED VIRTUAL_ENV "
    "CONDA_PREFIX CUDA_PATH CUDA_HOME SSH_AUTH_SOCK KRB5CCNAME"
).split()
# Which GPUs this process may use.
GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES")
# Variables of schedulers, which MPI's launchers need in a job, and of this project.
JOB_PREFIXES = ("SLURM_", "SLURMD_", "SRUN_", "LSB_", "LSF_", "JSM_", "PBS_", "PALS_", "OAR_", "FLUX_", "LADDER_")
# Without PYTHONSAFEPATH, a user's `random.py` in the working folder would replace Python's.
FIXED_VARIABLES = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONSAFEPATH": "1"}
# The prefixes of variables that configure runtimes. A cluster's prelude, shell code that runs before each job, may set
# them for the cluster's measurements. They are unset before it runs, so that none comes from the user.
RUNTIME_PREFIXES = (
    "NUMBA_ OMP_ GOMP_ KMP_ LIBOMP OPENBLAS_ GOTO_ MKL_ BLIS_ ARMPL_ NPY_ NUMPY_ SCIPY_ TBB_ DNNL_ ONEDNN_ "
    "MPICH_ MPIR_ MPIEXEC_ HYDRA_ PMI_ PMIX_ OMPI_ OPAL_ PRTE_ I_MPI_ MV2_ MPI4PY_ UCX_ UCC_ FI_ PSM2_ PSM3_ IBV_ "
    "HCOLL_ SHARP_ HWLOC_ CUDA_ CUDNN_ CUBLAS CUPY_ NCCL_ NVIDIA_ NVSHMEM_ GDRCOPY_ PYTORCH_ TORCH ATEN_ TRITON_ XLA_ "
    "MALLOC_ GLIBC_ JEMALLOC_ TCMALLOC_ MIMALLOC_ LD_ PYTHON"
).split()
NODES_VARIABLE = "LADDER_NODES"
# The prefixes of variables that a record omits: private, without effect on the measurement, or recorded elsewhere.
OMITTED_PREFIXES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "KRB5CCNAME",
    "SLURM",
    "LADDER_",
)


def nodes() -> int:
    """The number of nodes on which this job's case runs, as LADDER_NODES says. Raises LadderError if it is wrong."""
    text = os.environ.get(NODES_VARIABLE, "1")
    if not re.fullmatch("0*[1-9][0-9]{0,8}", text):
        raise LadderError(f"{NODES_VARIABLE}={text!r} isn't a number of nodes: unset it, only the workflow sets it.")
    return int(text)


def inherited(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that a measurement inherits from `variables`, by default this process's, and FIXED_VARIABLES."""
    variables = os.environ if variables is None else variables
    return {name: value for name, value in variables.items() if is_inherited(name)} | FIXED_VARIABLES


def is_inherited(name: str) -> bool:
    return name in LOCATION_VARIABLES or name in GPU_VARIABLES or name.startswith(JOB_PREFIXES)


def of_prelude() -> dict[str, str]:
    """The runtimes' variables in this process, which the cluster's prelude has set (`on_node` of the workflow)."""
    return {name: value for name, value in os.environ.items() if is_of_runtime(name)}


def is_of_runtime(name: str) -> bool:
    return name.startswith(tuple(RUNTIME_PREFIXES)) and not is_inherited(name) and name not in FIXED_VARIABLES


def unset_runtime_variables() -> str:
    """A line of bash that unsets the variables of all RUNTIME_PREFIXES, except those that a measurement inherits."""
    names = " ".join(f"${{!{family}@}}" for family in RUNTIME_PREFIXES)
    kept = "|".join(
        name
        for name in (*LOCATION_VARIABLES, *GPU_VARIABLES, *FIXED_VARIABLES)
        if name.startswith(tuple(RUNTIME_PREFIXES))
    )
    return f'for name in {names}; do case "$name" in {kept}) ;; *) unset "$name" ;; esac; done'


def variables_to_record(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a worker, which runs a measurement, that its record holds, sorted by name."""
    return {name: value for name, value in sorted(variables.items()) if not name.startswith(OMITTED_PREFIXES)}
