"""How many CPUs' time the control groups of this process allow it, in both versions of Linux's interface.

A quota is time of all CPUs together in each period of, as a rule, 100 ms: who has used it up stands still for the rest
of the period. It holds for a group and for all groups in it, so that the strictest of a process's group and of those
above it counts. Of the groups above a container's root nothing is known in it.
"""

import re
from pathlib import Path, PurePosixPath

PROCESS = Path("/proc/self")


def quota(process=PROCESS):
    """The number of CPUs' time that this process may use, maybe a fraction; None without a limit.

    `process` is the folder in which Linux tells of it.
    """
    return min(filter(None, map(limit, folders(process))), default=None)


def limit(folder):
    """The quota of the group in a folder, as a number of CPUs; None where it has none."""
    for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):  # versions 2 and 1
        try:
            time, period = map(int, " ".join((folder / name).read_text(encoding="ascii") for name in names).split())
            return time / period if time > 0 else None
        except (OSError, ValueError, ZeroDivisionError):
            continue  # not of this version, or without a limit, "max"
    return None


def folders(process):
    """The folders of this process's groups that may have a quota, from its own up to the root that is mounted."""
    own = groups(process)
    for version, root, mounted in mounts(process):
        path = PurePosixPath(own.get(version, "/"))
        # Of a group outside of what is mounted, as some containers see theirs, the root of what is mounted tells most.
        inside = path.relative_to(root).parts if path.is_relative_to(root) else ()
        inside = () if ".." in inside else inside
        for depth in range(len(inside), -1, -1):
            yield mounted.joinpath(*inside[:depth])


def groups(process):
    """The paths of this process's groups in the hierarchies with CPUs: {version: path}."""
    found = {}
    for line in lines(process / "cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            found[2] = path
        elif "cpu" in controllers.split(","):
            found[1] = path
    return found


def mounts(process):
    """Where hierarchies with CPUs are mounted: (version, the path in the hierarchy that is mounted, folder)."""
    for line in lines(process / "mountinfo"):
        place, _, kind = (part.split() for part in line.partition(" - "))
        _, _, _, root, folder, *_ = (re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), word) for word in place)
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "cpu" in kind[-1].split(",")):
            yield 2 if kind[0] == "cgroup2" else 1, root, Path(folder)


def lines(path):
    """The lines of a file of Linux's; none where it isn't there."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
