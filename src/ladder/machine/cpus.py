"""The CPUs that a plan may use, and their properties by lscpu."""

import os
import re
from pathlib import Path

from ladder.machine.programs import output

CPU_PROPERTIES = ("Model name", "Socket(s)", "Core(s) per socket", "Thread(s) per core", "NUMA node(s)")


def cores():
    """The CPUs that this process may use: its affinity, and no more than its control group's quota."""
    found = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        found = min(found, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass  # no quota
    return found


def cpu():
    """The CPU's model, caches and vector units, by lscpu: {property: text}."""
    text = output("lscpu")
    pairs = dict(re.split(r":\s+", line, maxsplit=1) for line in text.splitlines() if re.search(r":\s", line))
    found = {name: pairs.get(name, "unknown") for name in CPU_PROPERTIES}
    found |= {name: value for name, value in pairs.items() if name.endswith(" cache")}
    flags = set(pairs.get("Flags", "").split())
    found["Vector units"] = next((unit for unit in ("avx512f", "avx2", "avx", "sse2") if unit in flags), "unknown")
    return found
