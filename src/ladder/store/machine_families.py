"""Campaigns on machines that differ only in the number of their GPUs and cores, pooled for cases on GPUs.

Such a case has its GPUs to itself, whatever else is in the machine. An experiment's rows on GPUs get one label: that of
the machine with the most campaigns among those with the same models of GPU and CPU, if it has enough GPUs for all of
them. Rows of the host keep theirs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ladder.records import documents

CASE_COLUMNS = ["variant", "case"]


def labels(folders: Sequence[Path | str]) -> dict[str, tuple[str, int]]:
    """{machine: (the label of its cases on GPUs, the GPUs of the machine with that label)} of published folders.

    Machines that keep their own label are missing.
    """
    publications = [documents.read(Path(folder) / "machine.json", "publication") for folder in folders]
    campaigns = Counter(publication["machine"] for publication in publications)
    gpus = {publication["machine"]: len(publication["description"]["gpus"]) for publication in publications}
    families: dict[tuple[str, ...], set[str]] = {}
    for publication in publications:
        if gpus[publication["machine"]]:
            families.setdefault(models(publication["description"]), set()).add(publication["machine"])
    result: dict[str, tuple[str, int]] = {}
    for family in families.values():
        label = max(family, key=lambda machine: (campaigns[machine], gpus[machine], machine))
        result |= dict.fromkeys(family - {label}, (label, gpus[label]))
    return result


def models(description: Mapping[str, Any]) -> tuple[str, ...]:
    """The models of a described machine's GPUs and CPU, and the CPU's vector units: a virtual CPU hides its model."""
    cpu = description["cpu"]
    return *sorted({gpu["name"] for gpu in description["gpus"]}), cpu.get("Model name"), cpu.get("Vector units")


def relabel(frame: pd.DataFrame, gpus: int, cases: pd.MultiIndex, label: tuple[str, int]) -> pd.DataFrame:
    """An experiment's rows of a folder's table, those on GPUs with another machine's label.

    `gpus` and `cases` are those of `cases_on_gpus`. `label` is the label and the number of its machine's GPUs; if these
    are too few for one case, all rows keep theirs.
    """
    name, count = label
    if not 0 < gpus <= count:
        return frame
    return frame.assign(machine=frame["machine"].mask(pd.MultiIndex.from_frame(frame[CASE_COLUMNS]).isin(cases), name))


def cases_on_gpus(samples: pd.DataFrame) -> tuple[int, pd.MultiIndex]:
    """The most GPUs that a case of an experiment used, and its cases on GPUs, in its samples of a published folder."""
    if "gpu" not in samples:  # as in a folder without a sample of the experiment
        return 0, pd.MultiIndex.from_tuples([], names=CASE_COLUMNS)
    gpus = samples["gpu"].dropna().str.count(" ") + 1
    cases = samples.loc[gpus.index, CASE_COLUMNS].drop_duplicates()
    return max(gpus, default=0), pd.MultiIndex.from_frame(cases)
