"""The CPUs that this process may use, and their properties, read from /proc and /sys.

Properties are named and formatted as by lscpu, which isn't used because its output depends on language and version.
"""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path

from ladder.errors import LadderError, pluralize
from ladder.machine import caches, control_groups
from ladder.machine.programs import output

CPUINFO = Path("/proc/cpuinfo")
NODES = Path("/sys/devices/system/node")


def cores() -> int:
    """The number of CPUs that this process may use, at least 1: by affinity and by quota, rounded down."""
    affinity, quota = len(os.sched_getaffinity(0)), control_groups.quota()
    return affinity if quota is None else max(1, min(affinity, math.floor(quota)))


def require_quota(threads: int) -> None:
    """Refuse to time more threads than the control groups' quota allows, which would throttle them in every period."""
    quota = control_groups.quota()
    if quota is not None and quota < threads:
        raise LadderError(
            f"The case uses {pluralize(threads, 'CPU')}, but the control group of this process has a quota of "
            f"{quota:.3g}: it would be throttled in every tenth of a second while it is timed. Raise the quota "
            "(`--cpus` of a container, CPUQuota of systemd), or lower `cores` in the configuration."
        )


def cpu() -> dict[str, str]:
    """The CPU's model, topology, caches and vector units, {property: text}; "unknown" if Linux doesn't report it."""
    properties = first_cpu()
    threads, packages = siblings("thread_siblings"), siblings("core_siblings")
    flags = set(properties.get("flags", "").split())
    return {
        "Model name": model_name(properties),
        "Socket(s)": count_or_unknown(len(packages)),
        "Core(s) per socket": count_or_unknown(len(threads) // max(1, len(packages))),
        "Thread(s) per core": count_or_unknown(max(map(count_cpus, threads), default=0)),
        "NUMA node(s)": count_or_unknown(len(list(NODES.glob("node[0-9]*")))),
        **{f"{name} cache": text for name, text in caches_by_name().items()},
        "Vector units": next((unit for unit in ("avx512f", "avx2", "avx", "sse2") if unit in flags), "unknown"),
    }


def first_cpu() -> dict[str, str]:
    """The properties of the first CPU in /proc/cpuinfo, {property: text}; empty if the file can't be read."""
    try:
        text = CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def model_name(properties: Mapping[str, str]) -> str:
    """The CPU's model: on x86 its name from /proc/cpuinfo; elsewhere lscpu, which decodes the vendor's numbers."""
    if "flags" in properties and "model name" in properties:
        return properties["model name"]
    match = re.search(r"^Model name:[ \t]*(\S.*)", output("lscpu"), re.MULTILINE)
    return match[1] if match else properties.get("model name", "unknown")


def siblings(kind: str) -> set[str]:
    """The sets of CPUs that share a core (`thread_siblings`) or a package (`core_siblings`), as hexadecimal masks."""
    masks = set()
    for path in caches.CPUS.glob(f"cpu[0-9]*/topology/{kind}"):
        try:
            masks.add(path.read_text(encoding="ascii").strip())
        except OSError:
            continue  # the CPU was switched off meanwhile
    return masks


def count_cpus(mask: str) -> int:
    """The number of CPUs in a mask."""
    return int(mask.replace(",", ""), 16).bit_count()


def count_or_unknown(count: int) -> str:
    return str(count) if count else "unknown"


def caches_by_name() -> dict[str, str]:
    """The total size and the number of the caches of each name, such as {"L2": "1 MiB (2 instances)"}."""
    sizes: dict[str, list[int]] = {}
    for (level, kind, _), size in caches.all_caches().items():
        sizes.setdefault(f"L{level}{caches.KIND_LETTERS.get(kind, '')}", []).append(size)
    return {
        name: f"{in_binary_units(sum(sizes[name]))} ({len(sizes[name])} instance{'s' * (len(sizes[name]) > 1)})"
        for name in sorted(sizes)
    }


def in_binary_units(size: int) -> str:
    """A number of bytes in the largest binary unit that gives at least 1, with one decimal, such as "1.3 MiB"."""
    unit = max(0, (size.bit_length() - 1) // 10)
    tenths = (20 * size + 2 ** (10 * unit)) // 2 ** (10 * unit + 1)  # rounds half up
    return f"{tenths / 10:g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"
