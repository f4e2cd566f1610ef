"""Campaigns on machines that differ only in the number of their GPUs and cores, pooled for cases on GPUs.

Such a case has its GPUs to itself, whatever else is in the machine. An experiment's rows on GPUs get one label: that of
the machine with the most campaigns among those with the same models of GPU and CPU, if it has enough GPUs for all of
them. Rows of the host keep theirs, unless that machine has as many cores.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ladder.records import documents
from ladder.store import stored

CASE = ["variant", "case"]


class Label(NamedTuple):
    """The label of a machine's cases on GPUs, the `gpus` of the machine named so, and whether its host is pooled."""

    machine: str
    gpus: int
    on_host: bool


def labels(folders: Sequence[Path | str]) -> dict[str, Label]:
    """{machine: Label} of published folders; machines that keep their own label are missing."""
    abouts = [documents.read(Path(folder) / "machine.json", "publication") for folder in folders]
    campaigns = Counter(about["machine"] for about in abouts)
    machines = {about["machine"]: about["description"] for about in abouts if about["description"]["gpus"]}
    gpus = {name: len(description["gpus"]) for name, description in machines.items()}
    families: dict[tuple[str, ...], set[str]] = {}
    for name, description in machines.items():
        families.setdefault(models(description), set()).add(name)
    result: dict[str, Label] = {}
    for family in families.values():
        label = max(family, key=lambda machine: (campaigns[machine], gpus[machine], machine))
        for name in family - {label}:
            result[name] = Label(label, gpus[label], machines[name]["cores"] == machines[label]["cores"])
    return result


def models(description: Mapping[str, Any]) -> tuple[str, ...]:
    """The models of a described machine's GPUs and CPU, and the CPU's vector units: a virtual CPU hides its model."""
    cpu = description["cpu"]
    return *sorted({gpu["name"] for gpu in description["gpus"]}), cpu.get("Model name"), cpu.get("Vector units")


def relabel(frame: pd.DataFrame, folder: Path | str, experiment: str, label: Label | None) -> pd.DataFrame:
    """An experiment's rows of a published folder's table, those that are pooled with the `label`, if given.

    If the label's machine has too few GPUs for one case, all rows keep theirs.
    """
    if label is None or frame.empty:
        return frame
    samples = stored.published(folder, "samples", experiment)
    gpus = samples["gpu"].str.count(" ") + 1 if "gpu" in samples else pd.Series(0, samples.index)
    if gpus.max() > label.gpus:
        return frame
    if label.on_host:
        return frame.assign(machine=label.machine)
    cases = pd.MultiIndex.from_frame(samples.loc[gpus > 0, CASE].drop_duplicates())
    return frame.assign(machine=frame["machine"].mask(pd.MultiIndex.from_frame(frame[CASE]).isin(cases), label.machine))
