"""Limits that a data set sets to a case's sizes: the number of images, and a network's first and last layers."""

from collections.abc import Mapping
from typing import Any

IMAGES = {"mnist": 60000, "digits": 1437}  # images for training


def refuse_images(workload: str, sizes: Mapping[str, Any]) -> str | None:
    """Why a case can't have these sizes: the data set `source` has too few images. None if it has enough."""
    if sizes["images"] > IMAGES[sizes["source"]]:
        return f"images={sizes['images']} of {workload} is more than {sizes['source']} has."
    return None


def refuse_network(workload: str, sizes: Mapping[str, Any], example: str) -> str | None:
    """Why these layers don't form a network for images of digits, or None; `example` is a valid value to suggest."""
    widths = str(sizes["layers"]).split("-")
    if len(widths) < 2 or not all(width.isdigit() and int(width) for width in widths):
        return f"layers={sizes['layers']!r} of {workload} must be widths joined by '-', such as {example}."
    if (widths[0], widths[-1]) != ("784", "10"):
        return f"layers={sizes['layers']!r} of {workload} must begin with the 784 pixels and end with the 10 digits."
    return None
