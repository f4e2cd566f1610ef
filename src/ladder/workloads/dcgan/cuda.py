"""The generator on one GPU, latents and pictures in its memory; its layers are those of any CUDA variants of `tconv`.

The projection is a product by `gemm`, as are layers by a variant that uses one; an epilogue that a layer doesn't fuse
is a separate pass. Layers that read the operands of tensor cores get them from the preceding pass or layer, or from a
projection on tensor cores, which needs no pass. With `graph` all batches are one CUDA graph; with `batches` = tapered
they are those of `home`, to determine the cost of its copies. Compute-bound by the transposed convolutions for large
batches, bound by launches for small ones.
"""

from functools import partial
from typing import Literal

from ladder import cuda
from ladder.cuda.trace import Recorder
from ladder.harness import traces
from ladder.harness.steps import Steps, in_order
from ladder.workloads.dcgan import card
from ladder.workloads.dcgan.batches import CUTS, all_steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "card.cu"
MACROS = ()
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
LIMITS = {"split": (0, 4)}


def setup(
    problem,
    *,
    first: str = "cuda_implicit",
    last: str = "cuda_window",
    split: int = 3,
    batch: int = 512,
    batches: Literal["even", "tapered"] = "even",
    epilogue: Literal["fused", "folded", "separate"] = "fused",
    math: Literal["default", "tf32", "float16", "bfloat16"] = "default",
    product: str = "cublas",
    graph: Literal["off", "on"] = "off",
):
    """The timed steps of all batches, by layer, the loading of the network before them, and their trace."""
    images = problem.sizes["images"]
    batch = min(batch, images)
    how = {"first": first, "last": last, "split": split, "batch": batch, "epilogue": epilogue}
    generator = card.generator(problem.network, problem.sizes, math=math, product=product, **how)
    steps = all_steps(generator, problem.latents, problem.pictures, CUTS[batches](images, batch))
    if graph == "off":
        is_short = len(steps) <= traces.MAX_ROWS
        return Steps(steps, prepare=generator.prepare, trace=partial(trace, steps) if is_short else None)
    in_order(generator.prepare)()
    stream = cuda.load_cupy().cuda.Stream(non_blocking=True)
    return Steps(steps, prepare=generator.prepare, at_once=cuda.capture(in_order(steps), stream))


def trace(steps):
    """The rows of a run step by step."""
    recorder = Recorder()
    for name, step in steps:
        recorder.record("card", name, None, step)
    return recorder.rows()
