"""Limits that a data set imposes on a case's sizes: the number of images, and a network's first and last layers."""

from collections.abc import Mapping
from typing import Any

TRAINING_IMAGES = {"mnist": 60000, "digits": 1437}


def too_many_images_reason(workload: str, sizes: Mapping[str, Any]) -> str | None:
    """The reason why the data set `sizes["source"]` has too few images for these sizes; None if it has enough."""
    if sizes["images"] > TRAINING_IMAGES[sizes["source"]]:
        return f"images={sizes['images']} of {workload} is more than {sizes['source']} has."
    return None


def invalid_layers_reason(workload: str, sizes: Mapping[str, Any], example: str) -> str | None:
    """The reason why these layers aren't a network for images of digits, or None; `example` is a valid value."""
    widths = str(sizes["layers"]).split("-")
    if len(widths) < 2 or not all(width.isdigit() and int(width) for width in widths):
        return f"layers={sizes['layers']!r} of {workload} must be widths joined by '-', such as {example}."
    if (widths[0], widths[-1]) != ("784", "10"):
        return f"layers={sizes['layers']!r} of {workload} must begin with the 784 pixels and end with the 10 digits."
    return None
