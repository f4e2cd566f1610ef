"""MLP training on one GPU, with images and weights in the host's memory: every batch copies them there and back.

The images of a batch and all parameters are copied to the GPU, the batch's kernels run as one CUDA graph, and the
parameters are copied back. `memory` is that of the weights: page-locked before the timed call (pinned), or not
(pageable), so that copies go through a buffer of the driver. With wide layers the bottleneck is the GPU's link.

An earlier study attributes the time of its training with cuBLAS to copies, but doesn't say what it copied, or how
often. These are the most copies that a batch can need; `cuda`, with everything resident, has none.
"""

from functools import partial
from types import SimpleNamespace
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.devices.cuda import Cuda
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import chain_steps
from ladder.workloads.mlp import products
from ladder.workloads.mlp.cuda import epoch

DEVICE = "offload"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
KERNELS = ("cuda",)
USES = {"product": "gemm"}


def setup(problem: Problem, *, product: str, memory: Literal["pageable", "pinned"] = "pageable") -> Run:
    """The copies and the kernels of every batch, by phase."""
    sizes, multiply = problem.sizes, products.of(product)
    parameters = {name: array for name, array in problem.inputs.items() if name[1:].isdigit()}
    if memory == "pinned":
        for name, array in parameters.items():
            if name.startswith("w"):
                cuda.lock_pages(array)
    resident = {name: cuda.empty(array.shape, array.dtype) for name, array in parameters.items()}
    batches = {}  # by the number of images: the last one may be smaller

    def steps(number, start):
        """The steps of one batch, as (phase, function)."""
        rows = min(sizes["batch"], sizes["images"] - start)
        if rows not in batches:
            batches[rows] = Batch(sizes, rows, resident, multiply)
        batch, span = batches[rows], slice(start, start + rows)
        yield "copy in", partial(batch.copy_in, problem, span, parameters)
        yield "kernels", batch.run
        yield "copy out", partial(batch.copy_out, problem, number, parameters)

    starts = range(0, sizes["images"], sizes["batch"])
    return [step for number, start in enumerate(starts) for step in steps(number, start)]


class Batch:
    """The arrays of a batch of `rows` images on the GPU, and `run()`, its kernels; `resident` has the parameters."""

    def __init__(self, sizes, rows, resident, multiply):
        self.images = {"pixels": cuda.empty((rows, 784), "uint8"), "labels": cuda.empty(rows, "int64")}
        self.images["labels"].fill(0)  # capturing runs the kernels, which use a label as an index
        self.resident, self.loss = resident, cuda.empty(1, sizes["dtype"])
        order = cuda.empty(rows, "int64")
        order.set(np.arange(rows))
        arrays = resident | self.images | {"order": order, "loss": self.loss}
        batch = SimpleNamespace(sizes=sizes | {"images": rows, "batch": rows}, device=Cuda(), **arrays)
        stream = cuda.load_cupy().cuda.Stream(non_blocking=True)
        self.launch = cuda.capture(chain_steps(list(epoch(batch, multiply))), stream)

    def copy_in(self, problem, span, parameters):
        """Copy the images in a span of the order, a slice, and all parameters to the GPU."""
        index = problem.order[span]
        for name, array in self.images.items():
            array.set(getattr(problem, name)[index])
        for name, array in parameters.items():
            self.resident[name].set(array)

    def run(self):
        """Run the batch's kernels to their end."""
        self.launch()
        cuda.synchronize()

    def copy_out(self, problem, number, parameters):
        """Copy the loss of the batch with this number, and all parameters, to the host."""
        self.loss.get(out=problem.loss[number : number + 1])
        for name, array in parameters.items():
            self.resident[name].get(out=array)
