"""The best version in C on the host: blocks of patterns, register tiles, all steps of a block one after the other.

A block's activations, its deltas, the weights and their gradient stay in the L2 cache, so every image is read from
memory once. Products have tiles of sums in registers, 3 patterns high (more if narrow) and up to 7 vectors wide (3
without AVX-512VL); a gradient's tile has inputs in place of patterns. Patterns are read in place, by their row numbers
in `ranpat`. Threads take parts of the patterns dynamically, large ones first, so a slow thread takes fewer; every part
has its own sums, which are added in order at the end. Threads are bound to different cores because two threads on one
core would share its multiply-add units. `vector`, in bytes, should be the length of the machine's vector registers, or
less if the layers' widths aren't multiples of it. The variant is bound by the multiply-adds of the products.
"""

import ctypes
from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "tuned.c"
MACROS = ("vector",)
LIMITS = {"block": (1, 4096), "vector": (16, 64)}
ENVIRONMENT = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}


def setup(
    problem: Problem,
    *,
    threads: int,
    block: int = 96,
    vector: int = 32,
    flags: Literal["O2", "O3", "unroll", "fast", "native", "all"] = "native",
) -> Run:
    """The steps of an epoch: the blocks, then the update."""
    program = in_c.Program(problem, "tuned", threads=threads, flags=flags, vector=vector)
    # This scratch memory replaces `out` and `delta` of all patterns, whose untouched pages take no memory.
    program.library.scratch_size.restype = ctypes.c_long
    size = program.library.scratch_size(ctypes.byref(program.network), ctypes.c_long(block))
    program.scratch = problem.device.empty((size,), problem.sizes["dtype"])
    program.network.scratch = program.scratch.ctypes.data
    return [program.step("patterns", "patterns", block), program.step("update", "update", block)]
