"""Which host and which GPUs a measurement ran on, as digests: they tell machines apart without naming them."""

import hashlib
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

LENGTH = 12  # hexadecimal digits
# What tells hosts apart; copies of a virtual machine may share the first.
FILES = ("/etc/machine-id", "/sys/class/dmi/id/product_uuid", "/proc/sys/kernel/random/boot_id")


def digest(text: str) -> str:
    """A digest of a name that shouldn't be public."""
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def host() -> str:
    """The digest of this host, another one after each start."""
    parts = [platform.node()]
    for path in FILES:
        with suppress(OSError, ValueError):
            parts.append(Path(path).read_text(encoding="ascii").strip())
    return digest("\n".join(parts))


def gpus(threads: Mapping[str, Any]) -> list[str]:
    """The digests of the GPUs of a process, sorted, from what it reports of its threads; empty on a host."""
    places = [threads, *threads.get("ranks", ())]
    return sorted({digest(place["gpu"]["uuid"]) for place in places if "gpu" in place})
