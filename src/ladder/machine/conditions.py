"""The conditions under which a process runs: settings of its machine, limits of its own, and which code its libraries
choose for this CPU. They are part of what it measures: `records/agreement.py` refuses to pool processes that differ.
"""

import contextlib
import os
import resource
import sys
from pathlib import Path

from ladder.machine import control_groups

# Files of Linux's that hold one word, or several with the one that counts in brackets.
SETTINGS = {
    "smt/control": "sys/devices/system/cpu/smt/control",
    "smt/active": "sys/devices/system/cpu/smt/active",
    "boost": "sys/devices/system/cpu/cpufreq/boost",
    "intel_pstate/no_turbo": "sys/devices/system/cpu/intel_pstate/no_turbo",
    "intel_pstate/status": "sys/devices/system/cpu/intel_pstate/status",
    "amd_pstate/status": "sys/devices/system/cpu/amd_pstate/status",
    "cpuidle/governor": "sys/devices/system/cpu/cpuidle/current_governor",
    "clocksource": "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "transparent_hugepage/enabled": "sys/kernel/mm/transparent_hugepage/enabled",
    "transparent_hugepage/defrag": "sys/kernel/mm/transparent_hugepage/defrag",
    "samepage_merging": "sys/kernel/mm/ksm/run",
    "hugepages": "proc/sys/vm/nr_hugepages",
    "zone_reclaim_mode": "proc/sys/vm/zone_reclaim_mode",
    "randomize_va_space": "proc/sys/kernel/randomize_va_space",
    "numa_balancing": "proc/sys/kernel/numa_balancing",
    "sched_autogroup": "proc/sys/kernel/sched_autogroup_enabled",
    "sched_rt_runtime_us": "proc/sys/kernel/sched_rt_runtime_us",
    "personality": "proc/self/personality",  # of which a bit switches randomisation off for this process
}
# Those of each CPU, in its folder.
SETTINGS_OF_CPU = {
    "frequency/driver": "cpufreq/scaling_driver",
    "frequency/governor": "cpufreq/scaling_governor",
    "frequency/preference": "cpufreq/energy_performance_preference",
}
# Lines of the process's status.
STATUS = ("Mems_allowed_list", "THP_enabled", "Speculation_Store_Bypass")
LIMITS = {"stack": resource.RLIMIT_STACK, "memlock": resource.RLIMIT_MEMLOCK}
POLICIES = {getattr(os, f"SCHED_{name}"): name.lower() for name in ("OTHER", "BATCH", "IDLE", "FIFO", "RR")}
# How LLVM's names of vector units begin.
VECTORS = ("sse", "avx", "fma", "neon", "sve", "vsx", "altivec")


def of_process(cpus, root=Path("/")):
    """The conditions of this process, which may run on `cpus`: {fact: text or number}, without what Linux doesn't tell.

    `root` is where Linux's folders /proc and /sys are.
    """
    found = {name: setting(root / path) for name, path in SETTINGS.items()}
    found |= {name: settings_of(root, cpus, path) for name, path in SETTINGS_OF_CPU.items()}
    found |= status(root / "proc/self/status")
    found["quota"] = control_groups.quota(root / "proc/self")
    found["scheduler/policy"] = POLICIES.get(os.sched_getscheduler(0), "another")
    found["scheduler/nice"] = os.getpriority(os.PRIO_PROCESS, 0)
    found |= {f"limit/{name}": limit(kind) for name, kind in LIMITS.items()}
    found |= blas() | vectors()
    return {name: value for name, value in found.items() if value not in (None, "")}


def setting(path):
    """The word in a file of Linux's, the one in brackets of those there are; None where Linux doesn't tell."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = text.split()
    return next((word[1:-1] for word in words if word.startswith("[")), " ".join(words))


def settings_of(root, cpus, path):
    """The settings that any of these CPUs has, each once."""
    folders = (root / f"sys/devices/system/cpu/cpu{cpu}" for cpu in cpus)
    return ", ".join(sorted({word for folder in folders if (word := setting(folder / path))}))


def status(path):
    """What the process's status says of it."""
    with contextlib.suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        pairs = (line.partition(":") for line in lines)
        return {name: value.strip() for name, _, value in pairs if name in STATUS}
    return {}


def limit(kind):
    """The limit of a resource that holds for this process, in bytes."""
    soft, _ = resource.getrlimit(kind)
    return "unlimited" if soft == resource.RLIM_INFINITY else soft


def blas():
    """Of each loaded BLAS, by its file: which it is, the kernels that it chose for this CPU, whose threads it takes."""
    from threadpoolctl import threadpool_info

    return {
        f"blas/{Path(pool['filepath']).name}/{name}": str(pool[name])
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
        for name in ("internal_api", "version", "architecture", "threading_layer")
        if pool.get(name)
    }


def vectors():
    """The vector units, and the optimisation, for which the loaded libraries run or compile code."""
    import numpy as np

    found = {"numpy/vectors": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))}
    if "numba" in sys.modules:
        import llvmlite.binding as llvm
        from numba import config

        features = llvm.get_host_cpu_features().flatten() if config.CPU_FEATURES is None else config.CPU_FEATURES
        enabled = (one[1:] for one in features.split(",") if one.startswith("+"))
        found["numba/cpu"] = config.CPU_NAME or llvm.get_host_cpu_name()
        found["numba/vectors"] = " ".join(
            sorted(one for one in enabled if one.startswith(VECTORS) and (config.ENABLE_AVX or "avx" not in one))
        )
        found["numba/optimisation"] = int(config.OPT)
    if "torch" in sys.modules:
        with contextlib.suppress(AttributeError):  # of older versions
            found["torch/vectors"] = sys.modules["torch"].backends.cpu.get_cpu_capability()
    return found
