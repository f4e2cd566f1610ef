"""The variables of the environment that a measurement inherits; all others are dropped, or set by its case.

Runtimes read hundreds of variables that affect a measurement: `OMP_THREAD_LIMIT`, `NUMBA_OPT`, `OPENBLAS_CORETYPE`,
`NPY_DISABLE_CPU_FEATURES`, `NVIDIA_TF32_OVERRIDE`, `LD_PRELOAD`, `GLIBC_TUNABLES` … No list of them is complete, so
this is a list of the variables that a process needs to find its files, its job and its GPUs. The encoding is UTF-8, the
language of messages English, and Python never imports from the working folder.
"""

import os
import re

from ladder.errors import LadderError

# Where programs, libraries and a user's files are.
PLACES = (
    "PATH HOME USER LOGNAME SHELL TERM TMPDIR LD_LIBRARY_PATH PYTHONHOME PYTHONPATH PYTHONUNBUFFERED VIRTUAL_ENV "
    "CONDA_PREFIX CUDA_PATH CUDA_HOME SSH_AUTH_SOCK KRB5CCNAME"
).split()
# Which GPUs this process may use.
GPUS = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES")
# Variables of schedulers, which launchers in their jobs need, and the project's own.
PREFIXES = ("SLURM_", "SLURMD_", "SRUN_", "LSB_", "LSF_", "JSM_", "PBS_", "PALS_", "OAR_", "FLUX_", "LADDER_")
# Without the last a user's `random.py` in the working folder would replace that of Python.
FIXED = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONSAFEPATH": "1"}
# Variables that configure runtimes, which a cluster's prelude may set for its measurements. They are unset before the
# prelude runs, so that none of them is the user's.
FAMILIES = (
    "NUMBA_ OMP_ GOMP_ KMP_ LIBOMP OPENBLAS_ GOTO_ MKL_ BLIS_ ARMPL_ NPY_ NUMPY_ SCIPY_ TBB_ DNNL_ ONEDNN_ "
    "MPICH_ MPIR_ MPIEXEC_ HYDRA_ PMI_ PMIX_ OMPI_ OPAL_ PRTE_ I_MPI_ MV2_ MPI4PY_ UCX_ UCC_ FI_ PSM2_ PSM3_ IBV_ "
    "HCOLL_ SHARP_ HWLOC_ CUDA_ CUDNN_ CUBLAS CUPY_ NCCL_ NVIDIA_ NVSHMEM_ GDRCOPY_ PYTORCH_ TORCH ATEN_ TRITON_ XLA_ "
    "MALLOC_ GLIBC_ JEMALLOC_ TCMALLOC_ MIMALLOC_ LD_ PYTHON"
).split()
NODES = "LADDER_NODES"
NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
# Variables that a record omits: they are private, don't affect the measurement, or are elsewhere in the record.
OMITTED = (
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


def nodes():
    """The number of nodes on which this job's case runs, as LADDER_NODES says. Raises LadderError if it is wrong."""
    text = os.environ.get(NODES, "1")
    if not re.fullmatch("0*[1-9][0-9]{0,8}", text):
        raise LadderError(f"{NODES}={text!r} is no number of nodes: unset it, only the workflow sets it.")
    return int(text)


def inherited(variables=None):
    """The variables that a measurement inherits from these, by default this process's, and the FIXED ones."""
    variables = os.environ if variables is None else variables
    return {name: value for name, value in variables.items() if is_inherited(name)} | FIXED


def is_inherited(name):
    return name in PLACES or name in GPUS or name.startswith(PREFIXES)


def of_prelude():
    """The variables of runtimes in this process, set by a cluster's prelude (`on_node` of the workflow)."""
    return {name: value for name, value in os.environ.items() if is_of_runtime(name)}


def is_of_runtime(name):
    return name.startswith(tuple(FAMILIES)) and not is_inherited(name) and name not in FIXED


def unset_families():
    """A line of bash that unsets the variables of all FAMILIES except inherited ones."""
    names = " ".join(f"${{!{family}@}}" for family in FAMILIES)
    inherited = "|".join(name for name in (*PLACES, *GPUS, *FIXED) if name.startswith(tuple(FAMILIES)))
    return f'for name in {names}; do case "$name" in {inherited}) ;; *) unset "$name" ;; esac; done'


def for_record(variables):
    """The variables of a worker that its record holds, sorted by name."""
    return {name: value for name, value in sorted(variables.items()) if not name.startswith(OMITTED)}
