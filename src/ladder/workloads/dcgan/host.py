"""The generator on the CPU, batch by batch; its transposed convolutions are those of any host variants of `tconv`.

A batch's values stay in buffers: a batch that fits the caches spares their traffic, a larger one reads the filters,
20 MB at full size, less often. Bound by the multiply-adds of the transposed convolutions.
"""

import ctypes
from typing import Literal

from ladder.build import libraries
from ladder.harness.steps import Steps
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.batches import Generator

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "host.c"
MACROS = ("vector",)
USES = {"first": "tconv", "last": "tconv"}
LIMITS = {"split": (0, 4), "vector": (16, 64), "pictures": ("float32",)}
ENVIRONMENT = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores", "OPENBLAS_NUM_THREADS": "1"}
ACTIVATIONS = ("none", "relu", "tanh")  # as activation.h counts them


def setup(
    problem,
    *,
    threads: int,
    first: str = "tuned",
    last: str = "tuned",
    split: int = 4,
    batch: int = 16,
    epilogue: Literal["fused", "folded", "separate"] = "fused",
    vector: int = 32,
):
    """The timed steps of all batches, by layer, and before them what a network's loading does once."""
    library = libraries.load("dcgan", "host", problem.sizes["dtype"], vector=vector)
    images = problem.sizes["images"]
    batch = min(batch, images)

    def project(latents, weights, bias, out, activation):
        counts = len(latents), layout.LATENT, bias.size, ACTIVATIONS.index(activation), threads
        call(library.project, (latents, weights, bias, out), counts)

    def finish(values, norm, activation):
        counts = len(values), values.shape[1] ** 2, values.shape[3], ACTIVATIONS.index(activation), threads
        call(library.finish, (values, *((None, None) if norm is None else norm)), counts)

    how = {"first": first, "last": last, "split": split, "batch": batch, "epilogue": epilogue, "threads": threads}
    generator = Generator(problem, project, finish, **how)
    parts = [slice(start, start + batch) for start in range(0, images, batch)]
    steps = [step for part in parts for step in generator.steps(problem.latents[part], problem.pictures[part])]
    return Steps(steps, prepare=generator.prepare)


def call(function, arrays, counts):
    """Call a function of the library with arrays, None among them, and whole numbers."""
    addresses = (None if array is None else array.ctypes.data for array in arrays)
    function(*map(ctypes.c_void_p, addresses), *map(ctypes.c_long, counts))
