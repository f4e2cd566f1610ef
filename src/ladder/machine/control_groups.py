"""The CPU quota that control groups set for this process, in both versions of Linux's interface.

A quota is the CPU time, summed over all CPUs, that a group may use in each period, by default 100 ms; then the group is
throttled until the period ends. It includes nested groups, so a process has the strictest quota of its group and of
those above. Inside a container, the groups above the container's root are invisible.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

PROCESS = Path("/proc/self")


def quota(process: Path = PROCESS) -> float | None:
    """The number of CPUs, possibly fractional, whose time this process may use; None without a limit.

    `process` is the process's folder below /proc.
    """
    return min(filter(None, map(limit, folders(process))), default=None)


def limit(folder: Path) -> float | None:
    """The quota of the group in a folder, as a number of CPUs; None without one."""
    for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):  # versions 2 and 1
        try:
            quota_time, period = map(
                int, " ".join((folder / name).read_text(encoding="ascii") for name in names).split()
            )
            return quota_time / period if quota_time > 0 else None
        except (OSError, ValueError, ZeroDivisionError):
            continue  # the other version, or no limit, written as "max"
    return None


def folders(process: Path) -> Iterator[Path]:
    """The folders of a process's groups that may have a quota, from the innermost up to the root of the mount."""
    group_paths = groups(process)
    for version, root, mount_point in mounts(process):
        path = PurePosixPath(group_paths.get(version, "/"))
        # The group may be outside of what is mounted, as in some containers: then only the root of the mount counts.
        group_parts = path.relative_to(root).parts if path.is_relative_to(root) else ()
        group_parts = () if ".." in group_parts else group_parts
        for depth in range(len(group_parts), -1, -1):
            yield mount_point.joinpath(*group_parts[:depth])


def groups(process: Path) -> dict[int, str]:
    """The paths of a process's groups in the hierarchies that control CPUs, {version: path}."""
    paths = {}
    for line in lines(process / "cgroup"):
        number, controllers, path = line.split(":", 2)
        if number == "0":
            paths[2] = path
        elif "cpu" in controllers.split(","):
            paths[1] = path
    return paths


def mounts(process: Path) -> Iterator[tuple[int, str, Path]]:
    """The mounts of hierarchies that control CPUs: (version, root of the mount in the hierarchy, mount point)."""
    for line in lines(process / "mountinfo"):
        mount, _, kind = (part.split() for part in line.partition(" - "))
        _, _, _, root, point, *_ = (re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), word) for word in mount)
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "cpu" in kind[-1].split(",")):
            yield 2 if kind[0] == "cgroup2" else 1, root, Path(point)


def lines(path: Path) -> list[str]:
    """The lines of a file; empty if it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
