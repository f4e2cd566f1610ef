"""Write the metadata of a build, a Workflow Run RO-Crate, and copy the workflow's files beside them."""

import json
from datetime import UTC, datetime
from pathlib import Path

from ladder.errors import LadderError
from ladder.planning import status
from ladder.records.files import write_atomically
from ladder.report import run_crate


def add_arguments(parser):
    parser.add_argument("results", nargs="+", help="files of the crate that the run has made")
    parser.add_argument("--configuration", required=True, help="the run's configuration (JSON), a file of the crate")
    parser.add_argument("--snakefile", required=True, help="the Snakefile of the run")
    parser.add_argument("--out", required=True, help="the metadata's file, whose folder is the crate")


def run(options):
    root = Path(options.out).parent
    copies = run_crate.copy_workflow(options.snakefile, root)
    document = run_crate.document(root, copies, options.configuration, options.results, run_start())
    write_atomically(options.out, json.dumps(document, indent=1) + "\n")


def run_start():
    """When the last run began in this folder, None if that isn't known."""
    try:
        return datetime.fromtimestamp(status.read()["began"] / 1e9, UTC)
    except LadderError:
        return None
