"""What the rungs in C share: the timed step, which reads the file or raises an error."""

import ctypes

from ladder.build import libraries
from ladder.errors import LadderError


def reading_step(problem, variant, *counts):
    """The timed step: `read_all` of a variant's library, with `counts` after the common arguments."""
    read_all = libraries.load("pattern_input", variant, problem.sizes["dtype"]).read_all
    path, out = (ctypes.c_void_p(array.ctypes.data) for array in (problem.path, problem.out))
    images, *integers = map(ctypes.c_long, (problem.sizes["images"], *counts))

    def read():
        if not read_all(path, ctypes.c_long(int(problem.first[0])), images, out, *integers):
            name = bytes(problem.path).rstrip(b"\0").decode(errors="replace")
            raise LadderError(f"{name} can't be read, or has fewer images than needed: fetch the data set again.")

    return [("reading", read)]
