"""Ahead-of-time compilation: a separate worker compiles Numba's functions before anything is timed."""

import json

from ladder.build import compilation
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.harness.workers import Worker
from ladder.records import locks
from ladder.records.files import read_json, write_atomically


def precompile(case, protocol, prelude=()):
    """Have Numba compile the functions that a case's kind of problem needs, unless that is done; returns a note of it.

    A variant that fails here only leaves `failed` in the note: its measurement reports the error.
    """
    small, path = compilation.smallest(case), compilation.note_path(case)
    variables = environment.of_worker(case, prelude)
    state = compilation.state(case, variables)
    # Of two processes that write to one index of Numba's, one would be lost.
    with locks.folder_lock(compilation.folder(case, variables)):
        if path.exists() and (note := read_json(path)).get("state") == state:
            return note
        worker = Worker(small, protocol, prelude=prelude)
        try:
            worker.wait_ready()
            result = worker.compile()
        except LadderError as error:
            result = {"failed": str(error)}
        finally:
            worker.stop()
        note = {"state": state, **result}
        write_atomically(path, json.dumps(note, indent=1) + "\n")
    return note
