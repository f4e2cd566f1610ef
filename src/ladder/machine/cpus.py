"""The CPUs that this process may use, and their properties, from the files of Linux's kernel.

They are named and written as lscpu does, whose own words depend on the user's language and on its version.
"""

import math
import os
import re
from pathlib import Path

from ladder.errors import LadderError
from ladder.machine import caches, control_groups
from ladder.machine.programs import output

INFORMATION = Path("/proc/cpuinfo")
NODES = Path("/sys/devices/system/node")


def cores():
    """The CPUs that this process may use: its affinity, and the whole ones of its control groups' quota; at least 1."""
    found, quota = len(os.sched_getaffinity(0)), control_groups.quota()
    return found if quota is None else max(1, min(found, math.floor(quota)))


def require_quota(threads):
    """Refuse to time so many threads where a control group's quota would stop them for a part of every period."""
    quota = control_groups.quota()
    if quota is not None and quota < threads:
        raise LadderError(
            f"The case works on {threads} CPUs, and the control group of this process has a quota of {quota:.3g}: it "
            "would be stopped for a part of every tenth of a second while it is timed. Raise the quota (`--cpus` of a "
            "container, CPUQuota of systemd), or lower `cores` in the configuration."
        )


def cpu():
    """The CPU's model, topology, caches and vector units: {property: text}; "unknown" where Linux doesn't tell."""
    about = information()
    threads, packages = siblings("thread_siblings"), siblings("core_siblings")
    flags = set(about.get("flags", "").split())
    return {
        "Model name": model(about),
        "Socket(s)": known(len(packages)),
        "Core(s) per socket": known(len(threads) // max(1, len(packages))),
        "Thread(s) per core": known(max(map(size_of, threads), default=0)),
        "NUMA node(s)": known(len(list(NODES.glob("node[0-9]*")))),
        **{f"{name} cache": text for name, text in caches_by_name().items()},
        "Vector units": next((unit for unit in ("avx512f", "avx2", "avx", "sse2") if unit in flags), "unknown"),
    }


def information():
    """What Linux says of the first CPU: {property: text}; nothing where it says nothing."""
    try:
        text = INFORMATION.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def model(about):
    """The model's name. On x86 Linux has it; the names that other makers' numbers stand for are known to lscpu."""
    if "flags" in about and "model name" in about:
        return about["model name"]
    found = re.search(r"^Model name:[ \t]*(\S.*)", output("lscpu"), re.MULTILINE)
    return found[1] if found else about.get("model name", "unknown")


def siblings(kind):
    """The different sets of CPUs, as masks in hexadecimal digits, that share a core or a package."""
    found = set()
    for path in caches.CPUS.glob(f"cpu[0-9]*/topology/{kind}"):
        try:
            found.add(path.read_text(encoding="ascii").strip())
        except OSError:
            continue  # a CPU that has been switched off meanwhile
    return found


def size_of(mask):
    """How many CPUs are in a mask."""
    return int(mask.replace(",", ""), 16).bit_count()


def known(count):
    return str(count) if count else "unknown"


def caches_by_name():
    """The size of all caches of a name together, and their number: {"L2": "1 MiB (2 instances)"}."""
    sizes = {}
    for (level, kind, _), size in caches.listed().items():
        sizes.setdefault(f"L{level}{caches.LETTERS.get(kind, '')}", []).append(size)
    return {
        name: f"{binary(sum(sizes[name]))} ({len(sizes[name])} instance{'s' * (len(sizes[name]) > 1)})"
        for name in sorted(sizes)
    }


def binary(size):
    """Bytes in the largest binary unit of which there is one, to a tenth."""
    unit = max(0, (size.bit_length() - 1) // 10)
    tenths = (20 * size + 2 ** (10 * unit)) // 2 ** (10 * unit + 1)  # halves go up
    return f"{tenths / 10:g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"
