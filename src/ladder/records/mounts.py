"""File systems: whether a lock that is held on one machine is visible on others."""

import os
import re
from pathlib import Path

# File systems on one machine's disk or in its memory, which no other machine mounts.
LOCAL_TYPES = {
    *("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs")
}
# File systems that several machines share, and whose flock works across them.
SHARED_WITH_LOCKS = {"ceph", "gfs2", "gpfs", "nfs", "nfs4", "ocfs2"}
MOUNTS = Path("/proc/self/mountinfo")


def locks_are_shared(path: Path | str) -> bool:
    """Whether all machines that share this path's file system see each other's locks on it; False if unknown."""
    kind, options = mount_of(path)
    if kind == "lustre":
        return "flock" in options
    if kind in SHARED_WITH_LOCKS:
        return options.isdisjoint({"nolock", "local_lock=all", "local_lock=flock"})
    return kind in LOCAL_TYPES


def mount_of(path: Path | str) -> tuple[str, set[str]]:
    """The type of a path's file system and its mount options; empty if unknown."""
    longest_point = ""
    result: tuple[str, set[str]] = ("", set())
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return result
    path = Path(os.path.realpath(path))
    for line in lines:
        mount_fields, _, file_system = line.partition(" - ")
        mount_point = re.sub(r"\\(\d{3})", lambda escape: chr(int(escape[1], 8)), mount_fields.split()[4])
        # A later mount at the same point hides earlier ones.
        if len(mount_point) >= len(longest_point) and path.is_relative_to(mount_point):
            kind, _, options = file_system.split(" ", 2)
            result, longest_point = (kind, {*mount_fields.split()[5].split(","), *options.split(",")}), mount_point
    return result
