"""Campaigns: stretches of measuring from one start, of one commit, on one host and its GPUs.

Every record names its campaign. A run of the workflow is one; `ladder turns` measures in one that may be continued,
as long as commit, host and GPUs are the same. The folder of such a campaign has its CampaignNote and its records.
"""

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ladder.errors import LadderError
from ladder.records import documents
from ladder.records.files import write_atomically

FOLDER = Path("results/campaigns")
PUBLISHED = Path("results/published/campaigns")
NOTE = "campaign.json"
VARIABLE = "LADDER_CAMPAIGN"  # the campaign of a run, for its jobs
RUN = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z")  # the campaign of an ordinary run, as `name_of()` gives it
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")
SAME = ("machine", "commit", "dirty", "host", "gpus")  # what a campaign that is continued must agree in


def name_of(about: Mapping[str, Any] | None = None) -> str:
    """A new campaign's name, by the second in which it begins and, with keys SAME in `about`, by a digest of these."""
    began = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    return f"{about['machine']}_{began}_{documents.digest(about)[:6]}" if about else began


def of_run() -> str:
    """The campaign of the run that this process belongs to; a process by itself is one. Raises LadderError."""
    name = os.environ.get(VARIABLE) or name_of()
    if not NAME.fullmatch(name):
        raise LadderError(f"{VARIABLE} is {name!r}, which is no campaign's name: unset it.")
    return name


def folder(name: str) -> Path:
    """The folder of a campaign's records."""
    return FOLDER / name


def is_published(name: str) -> bool:
    """Whether a campaign was published, which requires all of its records."""
    return (PUBLISHED / name / "machine.json").exists()


def current(about: Mapping[str, Any]) -> str:
    """The name of the campaign to continue: the last unpublished one that agrees in `about`; else that of a new one.

    `about` has the keys SAME. Raises LadderError for a note that can't be read.
    """
    for path in sorted(FOLDER.glob(f"*/{NOTE}"), key=began_of, reverse=True):
        note = documents.read(path, "campaign")
        if all(note[key] == about[key] for key in SAME) and not is_published(path.parent.name):
            return path.parent.name
    return name_of(about)


def began_of(path: Path) -> str:
    """When a campaign began, by its note."""
    return documents.read(path, "campaign")["began"]


def begin(name: str, about: dict[str, Any]) -> None:
    """Write the note of a new campaign; `about` has the keys SAME and what else it says, such as the driver."""
    note = {"name": name, "began": datetime.now(UTC).isoformat(timespec="seconds")} | about
    write_atomically(folder(name) / NOTE, json.dumps(note | {"digest": documents.digest(note)}, indent=1) + "\n")
