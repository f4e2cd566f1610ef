"""The machine in a record: its label, hardware, software and clocks, and the job that it ran in."""

import contextlib
import os
import platform
import re
from pathlib import Path

from ladder.machine import caches, nvidia
from ladder.machine.cpus import cores, cpu

LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "scikit-learn", "snakemake", "torch", "cupy-cuda13x")


def label():
    """A name for this class of machine that is fit for a path: the CPU's model and the number of cores."""
    model = re.sub(r"\(.*?\)|\bCPU\b|\bProcessor\b|@.*|\d+-Core", " ", cpu()["Model name"])
    words = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-") or platform.machine()
    return f"{words}-{cores()}c"


def clocks(card=None):
    """The CPUs' lowest and highest clock in MHz now, by /proc/cpuinfo, and the state of a card as `gpu`.

    What the machine doesn't report is left out.
    """
    found = []
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found = [float(value) for value in re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)]
    cpus = {"lowest": min(found), "highest": max(found)} if found else {}
    return cpus | ({"gpu": nvidia.state(card)} if card else {})


def describe():
    """The machine and its software: system, CPU, memory and largest cache in bytes, library versions."""
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


def versions():
    """The installed versions of the libraries that a measurement may depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def node():
    """This machine's name: inside a job Slurm's own, which differs between virtual nodes too."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def slurm():
    """The variables that Slurm has set for this job."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("SLURM_")}
