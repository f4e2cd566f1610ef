"""What this machine is: its label, the cores that a plan may use, and the description that every record carries."""

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ladder import caches

DIRTY = "-dirty"
CPU_PROPERTIES = ("Model name", "Socket(s)", "Core(s) per socket", "Thread(s) per core", "NUMA node(s)")
GPU_PROPERTIES = {
    "name": "name",
    "uuid": "uuid",
    "memory": "memory.total",
    "driver": "driver_version",
    "capability": "compute_cap",
}
GPU_STATE = {
    "clock": "clocks.sm",
    "memory_clock": "clocks.mem",
    "temperature": "temperature.gpu",
    "power": "power.draw",
}
# Why a card's clock is what it is: the bits that NVML calls nvmlClocksEventReason...
REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
# Those that hold it back for power or heat.
THROTTLING = {"sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "scikit-learn", "snakemake", "torch", "cupy-cuda13x")


def cores():
    """The CPUs that this process may use: its affinity, and no more than its control group's quota."""
    found = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        found = min(found, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass  # no quota
    return found


def launcher(choice):
    """What starts ranks of MPI: with `auto` the mpiexec beside this Python, else of the PATH; None without any."""
    if choice != "auto":
        return choice
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def label():
    """A name for this class of machine that is fit for a path: the CPU's model and the number of cores."""
    model = re.sub(r"\(.*?\)|\bCPU\b|\bProcessor\b|@.*|\d+-Core", " ", cpu()["Model name"])
    words = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-") or platform.machine()
    return f"{words}-{cores()}c"


def cpu():
    """What lscpu tells of the CPU, its caches and its vector units."""
    text = output("lscpu")
    pairs = dict(re.split(r":\s+", line, maxsplit=1) for line in text.splitlines() if re.search(r":\s", line))
    found = {name: pairs.get(name, "unknown") for name in CPU_PROPERTIES}
    found |= {name: value for name, value in pairs.items() if name.endswith(" cache")}
    flags = set(pairs.get("Flags", "").split())
    found["Vector units"] = next((unit for unit in ("avx512f", "avx2", "avx", "sse2") if unit in flags), "unknown")
    return found


def clocks(card=None):
    """The CPUs' clocks in MHz as /proc/cpuinfo tells them now, lowest and highest, and the state of a card as `gpu`.

    Without what isn't told.
    """
    found = []
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text()
        found = [float(value) for value in re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)]
    told = {"lowest": min(found), "highest": max(found)} if found else {}
    return told | ({"gpu": gpu_state(card)} if card else {})


def gpus():
    """The cards that this process may use: [{name, uuid, memory, driver, capability}]; none where there are none."""
    text = output("nvidia-smi", f"--query-gpu=index,{','.join(GPU_PROPERTIES.values())}", "--format=csv,noheader")
    rows = [[value.strip() for value in line.split(",")] for line in text.splitlines() if line.count(",") >= 5]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        rows = [row for row in rows if {row[0], row[2]} & set(visible.split(","))]
    return [dict(zip(GPU_PROPERTIES, row[1:], strict=True)) for row in rows]


def gpu_state(card):
    """What nvidia-smi tells of the card of this UUID now: clocks in MHz, temperature in °C, power in W, and `reasons`.

    The reasons are words of REASONS for the clock being what it is. What the card doesn't tell is left out.
    """
    asked = ",".join([*GPU_STATE.values(), "clocks_event_reasons.active"])
    text = output("nvidia-smi", f"--id={card}", f"--query-gpu={asked}", "--format=csv,noheader,nounits")
    *values, mask = [value.strip() for value in text.split(",")]
    found = {
        name: float(value) for name, value in zip(GPU_STATE, values, strict=False) if re.fullmatch(r"[0-9.]+", value)
    }
    return found | ({"reasons": reasons(int(mask, 16))} if re.fullmatch(r"0x[0-9a-fA-F]+", mask) else {})


def reasons(mask):
    """The words of a bit mask of REASONS; a bit without a word as hexadecimal number."""
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return [REASONS.get(bit, hex(bit)) for bit in bits]


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
        "gpus": gpus(),
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


def commit():
    """The source's commit and whether it was changed since: {commit, dirty}.

    A copy of the sources without their history is told its commit by LADDER_COMMIT.
    """
    if told := os.environ.get("LADDER_COMMIT"):
        return of_a_word(told)
    here = str(Path(__file__).parent)
    found = output("git", "-C", here, "rev-parse", "HEAD").strip()
    dirty = output("git", "-C", here, "status", "--porcelain", "--untracked-files=no").strip()
    return {"commit": found or "unknown", "dirty": bool(dirty)}


def in_a_word(source):
    """The commit of a source, ending in `-dirty` where it was changed since."""
    return source["commit"] + (DIRTY if source["dirty"] else "")


def of_a_word(word):
    """The source, {commit, dirty}, that `in_a_word` writes so."""
    return {"commit": word.removesuffix(DIRTY), "dirty": word.endswith(DIRTY)}


def node():
    """This machine's name: Slurm's own for it inside a job, which tells virtual nodes apart too."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def slurm():
    """The variables that Slurm has set for this job."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("SLURM_")}


def output(*command):
    """What a command prints; nothing where it isn't there or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
