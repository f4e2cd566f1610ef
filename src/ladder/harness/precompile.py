"""Ahead-of-time compilation: a separate worker compiles Numba's functions before anything is timed."""

import json

from ladder.build import compilation
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.harness.workers import Worker
from ladder.records import locks
from ladder.records.files import read_json, write_atomically


def precompile(case, protocol, prelude=()):
    """Have Numba compile the functions for a case's kind of problem, unless a note says that it has; returns the note.

    If the variant fails, nothing is raised: the note holds the error as `failed`, and a measurement will report it.
    """
    small_case, path = compilation.representative_case(case), compilation.note_path(case)
    variables = environment.of_worker(case, prelude)
    dependencies = compilation.compiler_inputs(case, variables)
    # If two processes wrote to the same index of Numba's cache, the entries of one would be lost.
    with locks.folder_lock(compilation.folder(case, variables)):
        if path.exists() and (note := read_json(path)).get("state") == dependencies:
            return note
        worker = Worker(small_case, protocol, prelude=prelude)
        try:
            worker.wait_ready()
            result = worker.compile()
        except LadderError as error:
            result = {"failed": str(error)}
        finally:
            worker.stop()
        note = {"state": dependencies, **result}
        write_atomically(path, json.dumps(note, indent=1) + "\n")
    return note
