"""File systems: whether a lock that is held on one machine is visible on others."""

import os
import re
from pathlib import Path

# File systems on one machine's disk or memory: no other machine uses them.
OF_ONE_MACHINE = {
    *("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs")
}
# File systems of several machines, across which flock works.
WITH_LOCKS = {"ceph", "gfs2", "gpfs", "nfs", "nfs4", "ocfs2"}
MOUNTS = Path("/proc/self/mountinfo")


def locks_reach(path):
    """Whether a lock on a file below this path is visible wherever the file is; False if unknown."""
    kind, options = mount_of(path)
    if kind == "lustre":
        return "flock" in options
    if kind in WITH_LOCKS:
        return options.isdisjoint({"nolock", "local_lock=all", "local_lock=flock"})
    return kind in OF_ONE_MACHINE


def mount_of(path):
    """The type of a path's file system and its mount options; empty if unknown."""
    result, longest = ("", set()), ""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return result
    path = os.path.realpath(path)
    for line in lines:
        mount, _, system = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), mount.split()[4])
        if len(point) >= len(longest) and Path(path).is_relative_to(point):  # the last mount at a point counts
            kind, _, options = system.split(" ", 2)
            result, longest = (kind, {*mount.split()[5].split(","), *options.split(",")}), point
    return result
