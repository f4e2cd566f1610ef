"""The conditions that affect a process's times: the machine's settings, the process's limits, and the code paths that
its libraries choose for this CPU. `records/agreement.py` refuses to pool processes whose conditions differ.
"""

import contextlib
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ladder.machine import control_groups

# Files in /proc and /sys that hold one word, or several with the active one in brackets.
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
    "personality": "proc/self/personality",  # one of its bits disables address-space randomisation
}
# Settings of each CPU, in its folder below /sys/devices/system/cpu.
SETTINGS_OF_CPU = {
    "frequency/driver": "cpufreq/scaling_driver",
    "frequency/governor": "cpufreq/scaling_governor",
    "frequency/preference": "cpufreq/energy_performance_preference",
}
# Lines of /proc/self/status.
STATUS_LINES = ("Mems_allowed_list", "THP_enabled", "Speculation_Store_Bypass")
RESOURCE_LIMITS = {"stack": resource.RLIMIT_STACK, "memlock": resource.RLIMIT_MEMLOCK}
SCHEDULING_POLICIES = {getattr(os, f"SCHED_{name}"): name.lower() for name in ("OTHER", "BATCH", "IDLE", "FIFO", "RR")}
# The prefixes of LLVM's names of CPU features that are vector units.
VECTOR_PREFIXES = ("sse", "avx", "fma", "neon", "sve", "vsx", "altivec")


def of_process(cpus: Sequence[int], root: Path = Path("/")) -> dict[str, Any]:
    """The known conditions of this process, {fact: text or number}.

    `cpus` are the numbers of the CPUs that it may run on; `root` is the folder that holds /proc and /sys.
    """
    facts: dict[str, Any] = {name: setting(root / path) for name, path in SETTINGS.items()}
    facts |= {name: settings_of(root, cpus, path) for name, path in SETTINGS_OF_CPU.items()}
    facts |= status(root / "proc/self/status")
    facts["quota"] = control_groups.quota(root / "proc/self")
    facts["scheduler/policy"] = SCHEDULING_POLICIES.get(os.sched_getscheduler(0), "another")
    facts["scheduler/nice"] = os.getpriority(os.PRIO_PROCESS, 0)
    facts |= {f"limit/{name}": limit(kind) for name, kind in RESOURCE_LIMITS.items()}
    facts |= blas_libraries() | vector_units()
    return {name: value for name, value in facts.items() if value not in (None, "")}


def setting(path: Path) -> str | None:
    """The text of a file, or the word in brackets if it has one; None if the file can't be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = text.split()
    return next((word[1:-1] for word in words if word.startswith("[")), " ".join(words))


def settings_of(root: Path, cpus: Sequence[int], path: Path | str) -> str:
    """The distinct values of a setting of these CPUs, sorted."""
    folders = (root / f"sys/devices/system/cpu/cpu{cpu}" for cpu in cpus)
    return ", ".join(sorted({word for folder in folders if (word := setting(folder / path))}))


def status(path: Path) -> dict[str, str]:
    """The lines of a process's status file that STATUS_LINES names, {name: text}."""
    with contextlib.suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        pairs = (line.partition(":") for line in lines)
        return {name: value.strip() for name, _, value in pairs if name in STATUS_LINES}
    return {}


def limit(kind: int) -> int | str:
    """The soft limit of a resource for this process in bytes, or "unlimited"."""
    soft, _ = resource.getrlimit(kind)
    return "unlimited" if soft == resource.RLIM_INFINITY else soft


def blas_libraries() -> dict[str, str]:
    """The name, version, kernel family and threading layer of each loaded BLAS, {blas/<file>/<property>: text}."""
    from threadpoolctl import threadpool_info

    return {
        f"blas/{Path(pool['filepath']).name}/{name}": str(pool[name])
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
        for name in ("internal_api", "version", "architecture", "threading_layer")
        if pool.get(name)
    }


def vector_units() -> dict[str, Any]:
    """The vector units and the optimisation level that the loaded libraries use or compile for."""
    import numpy as np

    facts: dict[str, Any] = {
        "numpy/vectors": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
    }
    if "numba" in sys.modules:
        import llvmlite.binding as llvm
        from numba import config

        features = llvm.get_host_cpu_features().flatten() if config.CPU_FEATURES is None else config.CPU_FEATURES
        enabled_features = (feature[1:] for feature in features.split(",") if feature.startswith("+"))
        facts["numba/cpu"] = config.CPU_NAME or llvm.get_host_cpu_name()
        facts["numba/vectors"] = " ".join(
            sorted(
                name
                for name in enabled_features
                if name.startswith(VECTOR_PREFIXES) and (config.ENABLE_AVX or "avx" not in name)
            )
        )
        facts["numba/optimisation"] = int(config.OPT)
    if "torch" in sys.modules:
        with contextlib.suppress(AttributeError):  # older versions lack the function
            facts["torch/vectors"] = sys.modules["torch"].backends.cpu.get_cpu_capability()
    return facts
