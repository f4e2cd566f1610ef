"""The generator on one GPU, latents and pictures in its memory; its layers are any CUDA variants of `tconv`.

The projection, and layers of variants that use a matrix product, call the variant `product` of `gemm`. An epilogue that
a layer doesn't fuse is a separate pass. Layers on tensor cores read values that the preceding pass, layer or
projection has rounded to the type of their operands. With `graph` all batches are one CUDA graph. With `batches` =
tapered the batches are those of `home`, to determine the cost of its copies. Large batches are compute-bound by the
transposed convolutions, small ones latency-bound by kernel launches.
"""

from functools import partial
from typing import Literal

from ladder import cuda
from ladder.cuda.trace import Recorder
from ladder.harness import traces
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps, chain_steps
from ladder.workloads.dcgan import gpu
from ladder.workloads.dcgan.batches import SCHEDULES, all_steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "gpu.cu"
MACROS = ()
USES = {"first": "tconv", "last": "tconv", "product": "gemm"}
LIMITS = {"split": (0, 4)}


def setup(
    problem: Problem,
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
) -> Run:
    """The timed steps of all batches, layer by layer; the loading of the network before them; and their trace."""
    images = problem.sizes["images"]
    batch = min(batch, images)
    options = {"first": first, "last": last, "split": split, "batch": batch, "epilogue": epilogue}
    generator = gpu.generator(problem.network, problem.sizes, math=math, product=product, **options)
    steps = all_steps(generator, problem.latents, problem.pictures, SCHEDULES[batches](images, batch))
    if graph == "off":
        has_trace = len(steps) <= traces.MAX_ROWS
        return Steps(steps, prepare=generator.prepare, trace=partial(trace, steps) if has_trace else None)
    chain_steps(generator.prepare)()
    stream = cuda.load_cupy().cuda.Stream(non_blocking=True)
    return Steps(steps, prepare=generator.prepare, at_once=cuda.capture(chain_steps(steps), stream))


def trace(steps):
    """The rows of a trace of all steps."""
    recorder = Recorder()
    for name, step in steps:
        recorder.record("card", name, None, step)  # the GPU's lane, as published traces name it
    return recorder.rows()
