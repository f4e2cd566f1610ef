"""The versions of what a measurement depends on outside of Python's packages: compilers, CUDA, MPI and BLAS."""

import re
import subprocess
import sys
from collections.abc import Sequence

from ladder.machine import processes, variables

TIMEOUT = 60  # seconds that a command has to print its version
RELEASE = re.compile(r"release ([0-9.]+)")  # in what nvcc prints
# Commands, and statements in Python, that print a version; what isn't installed has none.
COMMANDS = {"gcc": ["gcc", "-dumpfullversion"], "nvcc": ["nvcc", "--version"]}
STATEMENTS = {
    "CUDA runtime": "import cupy; print(cupy.cuda.runtime.runtimeGetVersion())",
    "CUDA driver": "import cupy; print(cupy.cuda.runtime.driverGetVersion())",
    "NVRTC": "import cupy; print(*cupy.cuda.nvrtc.getVersion(), sep='.')",
    "cuBLAS": "import cupy; print(cupy.cuda.cublas.getVersion(cupy.cuda.device.get_cublas_handle()))",
    "NCCL": "import cupy.cuda.nccl; print(cupy.cuda.nccl.get_version())",
    "cuDNN": "import torch; print(torch.backends.cudnn.version() or '')",
    "CUDA of PyTorch": "import torch; print(torch.version.cuda or '')",
    "MPI": "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; "
    "name, version = MPI.get_vendor(); print(name, '.'.join(map(str, version)))",
    "BLAS of NumPy": "import numpy; blas = numpy.show_config('dicts')['Build Dependencies']['blas']; "
    "print(blas['name'], blas['version'])",
}


def versions() -> dict[str, str]:
    """{name: version} of what is installed."""
    commands = COMMANDS | {name: [sys.executable, "-c", code] for name, code in STATEMENTS.items()}
    outputs = {name: output_of(command) for name, command in commands.items()}
    return {name: output for name, output in outputs.items() if output}


def output_of(command: Sequence[str]) -> str:
    """The last line that a program prints; empty if it fails or isn't installed."""
    try:
        completed = processes.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, env=variables.inherited()
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    text = completed.stdout.decode(errors="replace").strip("\0 \n") if completed.returncode == 0 else ""
    release = RELEASE.search(text)
    return release[1] if release else text.rpartition("\n")[2].strip()
