"""What a record says about the machine: its label, hardware, software and clocks, and the Slurm job."""

import contextlib
import os
import platform
import re
from pathlib import Path
from typing import Any

from ladder.machine import caches, nvidia
from ladder.machine.cpus import cores, cpu

LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "scikit-learn", "snakemake", "torch", "cupy-cuda13x")


def label() -> str:
    """A default label for machines of this kind, usable in paths: the CPU's model and the number of cores."""
    model = re.sub(r"\(.*?\)|\bCPU\b|\bProcessor\b|@.*|\d+-Core", " ", cpu()["Model name"])
    words = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-") or platform.machine()
    return f"{words}-{cores()}c"


def clocks(uuid: str | None = None) -> dict[str, float | dict[str, Any]]:
    """The `lowest` and `highest` current clock of the CPUs in MHz, and as `gpu` the state of the GPU of this UUID.

    Values that the machine doesn't report are missing.
    """
    frequencies = []
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        frequencies = [float(value) for value in re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)]
    cpus = {"lowest": min(frequencies), "highest": max(frequencies)} if frequencies else {}
    return cpus | ({"gpu": nvidia.state(uuid)} if uuid else {})


def describe() -> dict[str, Any]:
    """The machine and its software: system, CPU, memory and largest cache in bytes, GPUs, library versions."""
    import psutil

    return {
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "cpu": cpu(),
        "cores": cores(),
        "memory": psutil.virtual_memory().total,
        "cache_bytes": caches.last_level(),
        "gpus": nvidia.gpus(),
        "libraries": versions(),
    }


def versions() -> dict[str, str]:
    """The installed versions of the libraries that a measurement may depend on."""
    from importlib.metadata import PackageNotFoundError, version

    installed = {}
    for name in LIBRARIES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def node() -> str:
    """This machine's host name; in a Slurm job the node's name, since virtual nodes share one host."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def slurm() -> dict[str, str]:
    """The variables that Slurm has set for this job."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("SLURM_")}
