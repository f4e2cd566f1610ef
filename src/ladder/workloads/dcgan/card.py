"""The generator on a GPU: the operations of a Generator there, and the network in its memory."""

from types import SimpleNamespace

import numpy as np

from ladder import cuda
from ladder.catalogue import workloads
from ladder.cuda import dependent_launch
from ladder.devices.cuda import Cuda
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.batches import Generator
from ladder.workloads.tconv import operands

ACTIVATIONS = ("none", "relu", "tanh")  # by index in activation.cuh
NO_ARRAY = np.uintp(0)
BLOCK, BLOCKS_PER_MULTIPROCESSOR = 256, 8  # BLOCK as in the source
ROWS, COLUMNS, THREADS, AT_ONCE = 32, 128, 128, 3  # of the projection, as in projection.cuh


class Works:
    """The operations of a Generator on the current GPU; `math` is that of layers which read operands.

    `product` is the variant of `gemm` of the projection, and of the layers whose variants use a product. If layers read
    operands, the projection uses tensor cores too, in TF32, which is at least as accurate as half precision.
    """

    def __init__(self, channels, batch, math, product):
        self.math = "tf32" if math == "default" else math
        self.product, self.on_tensor_cores = product, math != "default"
        if not self.on_tensor_cores:
            self.multiply = workloads.load_variant("gemm", product).product("nn")
            self.products = cuda.empty((batch, layout.FIRST**2 * channels), "float32")

    def project(self, latents, weights, bias, out, activation):
        if self.on_tensor_cores:
            images, columns = len(latents), weights.shape[1]
            kernel = cuda.kernel("dcgan", "cuda", f"project_to_{self.kind(out)}", "float32")
            across = columns // COLUMNS
            down = min(-(-images // ROWS), max(1, AT_ONCE * cuda.multiprocessors() // across))
            counts = images, columns, ACTIVATIONS.index(activation)
            start = dependent_launch.launcher(kernel)
            start((across, down), (THREADS,), (latents, weights, bias, out, *map(np.int32, counts)))
            return
        products = self.products[: len(latents)]
        self.multiply(latents, weights, products)
        self.launch(products, NO_ARRAY, bias, activation, out)

    def finish(self, values, norm, activation, out):
        factor, summand = (NO_ARRAY, NO_ARRAY) if norm is None else norm
        self.launch(values, factor, summand, activation, out)

    def launch(self, values, factor, summand, activation, out):
        """`out` may have more channels than `values`; factors and summands belong to the last axis of `values`."""
        kernel = cuda.kernel("dcgan", "cuda", f"to_{self.kind(out)}", "float32")
        width = out.shape[-1]
        c = values.size // (out.size // width)
        counts = out.size // width, c, width, values.shape[-1], ACTIVATIONS.index(activation)
        grid = (BLOCKS_PER_MULTIPROCESSOR * cuda.multiprocessors(),)
        kernel(grid, (BLOCK,), (values, out, factor, summand, *map(np.int32, counts)))

    def kind(self, out):
        """The type of an array's elements, as the source names it."""
        return {"uint16": self.math, "uint8": "uint8"}.get(out.dtype.name, "float32")

    def values(self, variant, shape):
        return operands.empty(Cuda(), shape, self.math) if reads_operands(variant) else cuda.empty(shape, "float32")

    def layer(self, variant, problem, following, fused):
        if "product" in getattr(variant, "USES", {}):
            return variant.layer(problem, product=self.product, **fused)
        if not reads_operands(variant):
            return variant.layer(problem, **fused)
        how = {"result": "operands"} if fused and following is not None and reads_operands(following) else {}
        if getattr(variant, "OVERLAPS", False):
            how["overlaps"] = True  # the projection runs between its preparation and any layer
        return variant.layer(problem, math=self.math, **fused, **how)


def reads_operands(variant):
    """Whether a variant of `tconv` reads the operands of tensor cores."""
    return getattr(variant, "OPERANDS", False)


def generator(network, sizes, *, first, last, split, batch, epilogue, math, product):
    """The Generator of a network in the GPU's memory."""
    problem = SimpleNamespace(network=network, sizes=sizes, device=Cuda(), pictures=sizes["pictures"])
    works = Works(sizes["channels"], batch, math, product)
    return Generator(problem, works, first=first, last=last, split=split, batch=batch, epilogue=epilogue)
