"""The generator on the CPU, batch by batch; its transposed convolutions are any host variants of `tconv`.

The values of a small batch fit in the caches; larger batches read the filters, 20 MB at full size, less often.
The variant is compute-bound by the transposed convolutions.
"""

import ctypes
from types import SimpleNamespace
from typing import Literal

from ladder.build import libraries
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.batches import Generator, all_steps, even_groups

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "host.c"
MACROS = ("vector",)
USES = {"first": "tconv", "last": "tconv"}
LIMITS = {"split": (0, 4), "vector": (16, 64), "pictures": ("float32",)}
ENVIRONMENT = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores", "OPENBLAS_NUM_THREADS": "1"}
ACTIVATIONS = ("none", "relu", "tanh")  # by index in activation.h


def setup(
    problem: Problem,
    *,
    threads: int,
    first: str = "tuned",
    last: str = "tuned",
    split: int = 4,
    batch: int = 16,
    epilogue: Literal["fused", "folded", "separate"] = "fused",
    vector: int = 32,
) -> Run:
    """The timed steps of all batches, layer by layer, and the loading of the network before them."""
    library = libraries.load("dcgan", "host", problem.sizes["dtype"], vector=vector)
    images = problem.sizes["images"]
    batch = min(batch, images)

    operations = Operations(library, threads, problem.device)
    inputs = SimpleNamespace(network=problem.network, sizes=problem.sizes, device=problem.device, pictures="float32")
    generator = Generator(inputs, operations, first=first, last=last, split=split, batch=batch, epilogue=epilogue)
    steps = all_steps(generator, problem.latents, problem.pictures, even_groups(images, batch))
    return Steps(steps, prepare=generator.prepare)


class Operations:
    """The operations that a Generator calls, on the host."""

    def __init__(self, library, threads, device):
        self.library, self.threads, self.device = library, threads, device

    def project(self, latents, weights, bias, out, activation):
        integers = len(latents), layout.LATENT, bias.size, ACTIVATIONS.index(activation), self.threads
        call(self.library.project, (latents, weights, bias, out), integers)

    def epilogue(self, values, norm, activation, out):
        """Work in place: `out` is `values`."""
        integers = len(values), values.shape[1] ** 2, values.shape[3], ACTIVATIONS.index(activation), self.threads
        call(self.library.epilogue, (values, *((None, None) if norm is None else norm)), integers)

    def input_array(self, variant, shape):
        return self.device.empty(shape, "float32")

    def layer(self, variant, problem, next_variant, fused):
        return variant.layer(problem, threads=self.threads, **fused)


def call(function, arrays, integers):
    """Call a function of the library with arrays, of which None is a null pointer, and whole numbers."""
    addresses = (None if array is None else array.ctypes.data for array in arrays)
    function(*map(ctypes.c_void_p, addresses), *map(ctypes.c_long, integers))
