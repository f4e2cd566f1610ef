"""Compiling ahead: Numba's functions are compiled by a worker of their own, before anything is timed."""

import json

from ladder.build import compilation
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.harness.workers import Worker
from ladder.records import locks
from ladder.records.files import read_json, write_atomically


def precompile(case, protocol, prelude=()):
    """Have Numba compile what a case's kind of problem needs, unless that is done; the note of it, as a dict.

    A variant that fails here only leaves `failed` in the note: its measurement reports the error.
    """
    small, path = compilation.smallest(case), compilation.note_path(case)
    made = environment.of_worker(case, prelude)
    due = compilation.state(case, made)
    with locks.alone_in(
        compilation.folder(case, made)
    ):  # of two that write to one index of Numba's, one would be forgotten
        if path.exists() and (note := read_json(path)).get("state") == due:
            return note
        worker = Worker(small, protocol, prelude=prelude)
        try:
            worker.wait_ready()
            found = worker.compile()
        except LadderError as error:
            found = {"failed": str(error)}
        finally:
            worker.stop()
        note = {"state": due, **found}
        write_atomically(path, json.dumps(note, indent=1) + "\n")
    return note
