"""Which host and which GPUs a measurement ran on, as digests: they tell machines apart without naming them."""

import hashlib
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

DIGEST_LENGTH = 12  # hexadecimal digits
# What tells hosts apart; copies of a virtual machine may share the first.
ID_FILES = ("/etc/machine-id", "/sys/class/dmi/id/product_uuid", "/proc/sys/kernel/random/boot_id")


def digest(text: str) -> str:
    """A digest of a name that shouldn't be public."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def host_digest() -> str:
    """The digest of this host, which changes at each boot."""
    parts = [platform.node()]
    for path in ID_FILES:
        with suppress(OSError, ValueError):
            parts.append(Path(path).read_text(encoding="ascii").strip())
    return digest("\n".join(parts))


def gpu_digests(threads: Mapping[str, Any]) -> list[str]:
    """The sorted digests of the GPUs of a process and its ranks, from what `Host.read_threads` returned there."""
    ranks = [threads, *threads.get("ranks", ())]
    return sorted({digest(rank["gpu"]["uuid"]) for rank in ranks if "gpu" in rank})
