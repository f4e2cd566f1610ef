"""Campaigns: measurements of one commit, on one host and its GPUs, which begin once and may be continued.

Every record names its campaign. A run of the workflow is one; that of `ladder turns` may be continued as long as
commit, host and GPUs are the same. The folder of such a campaign has its note and its records.
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
NOTE_NAME = "campaign.json"  # of the file with a campaign's note, whose schema is `campaign`
VARIABLE = "LADDER_CAMPAIGN"  # the campaign of a run, for its jobs
RUN_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z")  # the campaign of an ordinary run, as `new_name()` gives it
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")
IDENTITY_KEYS = ("machine", "commit", "dirty", "host", "gpus")  # in which a campaign that is continued must agree


def new_name(identity: Mapping[str, Any] | None = None) -> str:
    """A new campaign's name: the second in which it begins.

    With `identity`, a dict of IDENTITY_KEYS, it is the machine's label, that second and a digest of the identity.
    """
    timestamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    return f"{identity['machine']}_{timestamp}_{documents.digest(identity)[:6]}" if identity else timestamp


def of_run() -> str:
    """The campaign of the run that this process belongs to; a process by itself is one. Raises LadderError."""
    name = os.environ.get(VARIABLE) or new_name()
    if not NAME.fullmatch(name):
        raise LadderError(f"{VARIABLE} is {name!r}, which is no campaign's name: unset it.")
    return name


def folder(name: str) -> Path:
    """The folder of a campaign's records."""
    return FOLDER / name


def is_published(name: str) -> bool:
    """Whether a campaign was published, which requires all of its records."""
    return (PUBLISHED / name / "machine.json").exists()


def name_to_continue(identity: Mapping[str, Any]) -> str:
    """The name of the campaign to continue: the last unpublished one that agrees in `identity`; else that of a new one.

    `identity` has the IDENTITY_KEYS. Raises LadderError for a note that can't be read.
    """
    for path in sorted(FOLDER.glob(f"*/{NOTE_NAME}"), key=start_of, reverse=True):
        note = documents.read(path, "campaign")
        if all(note[key] == identity[key] for key in IDENTITY_KEYS) and not is_published(path.parent.name):
            return path.parent.name
    return new_name(identity)


def start_of(path: Path) -> str:
    """When a campaign began, by its note."""
    return documents.read(path, "campaign")["began"]


def begin(name: str, facts: dict[str, Any]) -> None:
    """Write the note of a new campaign; `facts` has the IDENTITY_KEYS and more, such as the driver."""
    note = {"name": name, "began": datetime.now(UTC).isoformat(timespec="seconds")} | facts
    write_atomically(folder(name) / NOTE_NAME, json.dumps(note | {"digest": documents.digest(note)}, indent=1) + "\n")
