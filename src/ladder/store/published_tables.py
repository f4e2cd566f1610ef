"""An experiment's tables from the published folders of machines and of campaigns."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ladder.records import campaigns
from ladder.store import PUBLISHED_SUFFIX, machine_families, table_files

# The columns that identify a case.
CASE_COLUMNS = ["machine", "workload", "variant", "case"]
# Campaign i, from 0, numbers its processes from i times this on, so that no two processes of a case share a number.
PROCESS_OFFSET = 1000


def is_campaign(folder: Path | str) -> bool:
    """Whether a published folder is that of a campaign."""
    return Path(folder).parent.name == campaigns.PUBLISHED.name


class PublishedTables:
    """The tables of published `folders`. Which experiments they have is read once, as the folders must not change.

    Cases on GPUs that campaigns measured get the label that `machine_families` has for their machine.
    """

    def __init__(self, folders: Sequence[Path | str]) -> None:
        self.campaigns = list(filter(is_campaign, folders))
        self.machines = [folder for folder in folders if folder not in self.campaigns]
        self.labels = machine_families.labels(self.campaigns)
        self.experiments: dict[tuple[Path | str, str], frozenset[str]] = {}  # by folder and table
        self.cases_on_gpus: dict[tuple[Path | str, str], tuple[int, pd.MultiIndex]] = {}  # by folder and experiment

    def frames(self, name: str, experiment: str, new_keys: set[tuple[str, str, str, str]]) -> list[pd.DataFrame]:
        """An experiment's rows of the table `name`, a frame per folder; of a case that campaigns measured, only theirs.

        Rows of machines whose keys are in `new_keys` are skipped. Those of campaigns are kept beside new ones of the
        same case, because verdicts rest on campaigns.
        """
        frames = [self.rows(folder, name, experiment, set()) for folder in self.campaigns]
        frames = [
            frame.assign(process=frame["process"] + PROCESS_OFFSET * number)
            for number, frame in enumerate(frames)
            if len(frame)
        ]
        measured_again = {
            (machine.removesuffix(PUBLISHED_SUFFIX), *key)
            for frame in frames
            for machine, *key in frame[CASE_COLUMNS].to_numpy()
        }
        return [*frames, *(self.rows(folder, name, experiment, new_keys | measured_again) for folder in self.machines)]

    def rows(
        self, folder: Path | str, name: str, experiment: str, replaced_keys: set[tuple[str, str, str, str]]
    ) -> pd.DataFrame:
        """An experiment's rows of a folder, with the mark of publication after the machine; empty without any."""
        frame = self.read(folder, name, experiment)
        if frame.empty:
            return frame
        is_replaced = pd.MultiIndex.from_frame(frame[CASE_COLUMNS]).isin(replaced_keys)
        frame = frame[~is_replaced].dropna(axis="columns", how="all")
        if frame.empty:
            return pd.DataFrame()
        if label := folder in self.campaigns and self.labels.get(frame["machine"].iloc[0]):
            frame = machine_families.relabel(frame, *self.gpu_cases(folder, experiment), label)
        return frame.assign(machine=frame["machine"] + PUBLISHED_SUFFIX)

    def read(self, folder: Path | str, name: str, experiment: str) -> pd.DataFrame:
        """An experiment's rows of a folder's table, as they are published."""
        key = folder, name
        if key not in self.experiments:
            self.experiments[key] = table_files.published_experiments(folder, name)
        return (
            table_files.read_published(folder, name, experiment)
            if experiment in self.experiments[key]
            else pd.DataFrame()
        )

    def gpu_cases(self, folder: Path | str, experiment: str) -> tuple[int, pd.MultiIndex]:
        """The most GPUs that a case of an experiment used, and its cases on GPUs, in a folder."""
        key = folder, experiment
        if key not in self.cases_on_gpus:
            self.cases_on_gpus[key] = machine_families.cases_on_gpus(self.read(folder, "samples", experiment))
        return self.cases_on_gpus[key]
