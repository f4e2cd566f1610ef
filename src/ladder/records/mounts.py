"""File systems: whether a lock that is held on one machine shows on the others."""

import os
import re
from pathlib import Path

# Of one machine's disk or memory: nobody else works in it.
OF_ONE_MACHINE = {
    *("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs")
}
# Of many machines, between which flock works.
WITH_LOCKS = {"ceph", "gfs2", "gpfs", "nfs", "nfs4", "ocfs2"}
MOUNTS = Path("/proc/self/mountinfo")


def locks_reach(path):
    """Whether a lock on a file below this path shows wherever the file does; False where that isn't known."""
    kind, options = mount_of(path)
    if kind == "lustre":
        return "flock" in options
    if kind in WITH_LOCKS:
        return options.isdisjoint({"nolock", "local_lock=all", "local_lock=flock"})
    return kind in OF_ONE_MACHINE


def mount_of(path):
    """The kind of the file system of a path, and the options that it is mounted with; empty where none is told."""
    found, longest = ("", set()), ""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return found
    path = os.path.realpath(path)
    for line in lines:
        mount, _, system = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), mount.split()[4])
        if len(point) >= len(longest) and Path(path).is_relative_to(point):  # of two at one point the later one counts
            kind, _, options = system.split(" ", 2)
            found, longest = (kind, {*mount.split()[5].split(","), *options.split(",")}), point
    return found
