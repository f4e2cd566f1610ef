"""Campaigns on machines that differ only in the number of their GPUs and cores, pooled for cases on one GPU.

Such a case has a whole GPU to itself, whatever else is in the machine. Its rows get one label: that of the machine with
the most GPUs among those with the same models of GPU and CPU. Rows of the host and of several GPUs keep theirs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ladder.records import documents
from ladder.store import stored

CASE = ["variant", "case"]


def labels(folders: Sequence[Path | str]) -> dict[str, str]:
    """{machine: the label of its cases on one GPU} of published folders; without machines that keep their own."""
    abouts = [documents.read(Path(folder) / "machine.json", "publication") for folder in folders]
    counts = {about["machine"]: (len(about["description"]["gpus"]), about["machine"]) for about in abouts}
    families: dict[tuple[str, ...], set[str]] = {}
    for about in abouts:
        families.setdefault(models(about["description"]), set()).add(about["machine"])
    largest = {machine: max(family, key=counts.__getitem__) for family in families.values() for machine in family}
    return {machine: label for machine, label in largest.items() if label != machine and counts[machine][0]}


def models(description: Mapping[str, Any]) -> tuple[str, ...]:
    """The models of a described machine's GPUs and CPU, and the CPU's vector units: a virtual CPU hides its model."""
    cpu = description["cpu"]
    return *sorted({gpu["name"] for gpu in description["gpus"]}), cpu.get("Model name"), cpu.get("Vector units")


def relabel(frame: pd.DataFrame, folder: Path | str, experiment: str, label: str | None) -> pd.DataFrame:
    """An experiment's rows of a published folder's table, those on one GPU with `label` as their machine, if given."""
    if label is None or frame.empty:
        return frame
    samples = stored.published(folder, "samples", experiment)
    is_on_one_gpu = samples["gpu"].str.count(" ") == 0 if "gpu" in samples else pd.Series(False, samples.index)
    cases = pd.MultiIndex.from_frame(samples.loc[is_on_one_gpu, CASE].drop_duplicates())
    return frame.assign(machine=frame["machine"].mask(pd.MultiIndex.from_frame(frame[CASE]).isin(cases), label))
