"""A check that a machine has the hardware of the one that is published under its label.

Labels are made from names, and machines of different hardware may report the same: a virtual CPU hides its model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ladder.errors import LadderError
from ladder.records import campaigns, documents


def require_same_hardware(label: str, description: Mapping[str, Any], replaced_folder: Path | None = None) -> None:
    """Refuse a described machine whose hardware isn't that of what is published under its label. Raises LadderError.

    `replaced_folder` is a published folder that is about to be replaced, so that it doesn't count.
    """
    machines = campaigns.PUBLISHED.parent.glob("*/machine.json")
    for path in sorted([*machines, *campaigns.PUBLISHED.glob("*/machine.json")]):
        publication = documents.read(path, "publication")
        if publication["machine"] != label or path.parent == replaced_folder:
            continue
        published, measured = hardware(publication["description"]), hardware(description)
        names = [name for name in measured.keys() & published.keys() if measured[name] != published[name]]
        if differences := [f"{name}: {measured[name]} in place of {published[name]}" for name in sorted(names)]:
            raise LadderError(
                f"This machine isn't of the kind that is published as {label} in {path.parent} "
                f"({'; '.join(differences)}). Give it a label of its own: `--config machine=<label>`."
            )


def hardware(description: Mapping[str, Any]) -> dict[str, Any]:
    """{name: value} of a description's CPU and GPUs."""
    gpus = ", ".join(gpu["name"] for gpu in description["gpus"]) or "none"
    return {**description["cpu"], "cores": description["cores"], "GPUs": gpus}
