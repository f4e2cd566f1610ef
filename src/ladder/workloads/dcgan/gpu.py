"""A Generator on a GPU, and its operations there."""

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
NO_ARRAY = np.uintp(0)  # a null pointer
BLOCK, BLOCKS_PER_MULTIPROCESSOR = 256, 8  # of an epilogue; BLOCK as in gpu.cu
# Of a projection, as in projection.cuh.
ROWS, COLUMNS, THREADS, RESIDENT_BLOCKS = 32, 128, 128, 3


class Operations:
    """The operations that a Generator calls, on the current GPU; `math` is the precision of layers on tensor cores.

    `product` is the variant of `gemm` for the projection, and for layers whose variants use a product. Unless `math` is
    default, the projection uses tensor cores too, in TF32, which is at least as accurate as half precision.
    """

    def __init__(self, channels, batch, math, product):
        self.math = "tf32" if math == "default" else math
        self.product, self.on_tensor_cores = product, math != "default"
        if not self.on_tensor_cores:
            self.multiply = workloads.load_variant("gemm", product).product("nn")
            self.products = cuda.empty((batch, layout.BASE_SIDE**2 * channels), "float32")

    def project(self, latents, weights, bias, out, activation):
        if self.on_tensor_cores:
            images, columns = len(latents), weights.shape[1]
            kernel = cuda.kernel("dcgan", "cuda", f"project_to_{self.element_type(out)}", "float32")
            grid_x = columns // COLUMNS
            grid_y = min(-(-images // ROWS), max(1, RESIDENT_BLOCKS * cuda.multiprocessors() // grid_x))
            counts = images, columns, ACTIVATIONS.index(activation)
            launch = dependent_launch.launcher(kernel)
            launch((grid_x, grid_y), (THREADS,), (latents, weights, bias, out, *map(np.int32, counts)))
            return
        products = self.products[: len(latents)]
        self.multiply(latents, weights, products)
        self.launch_epilogue(products, NO_ARRAY, bias, activation, out)

    def epilogue(self, values, norm, activation, out):
        scale, shift = (NO_ARRAY, NO_ARRAY) if norm is None else norm
        self.launch_epilogue(values, scale, shift, activation, out)

    def launch_epilogue(self, values, scale, shift, activation, out):
        """Write activation(scale * values + shift); `out` may have more channels than `values`.

        Scale and shift have an element for each of the last axis of `values`.
        """
        kernel = cuda.kernel("dcgan", "cuda", f"to_{self.element_type(out)}", "float32")
        padded_c = out.shape[-1]
        c = values.size // (out.size // padded_c)
        counts = out.size // padded_c, c, padded_c, values.shape[-1], ACTIVATIONS.index(activation)
        grid = (BLOCKS_PER_MULTIPROCESSOR * cuda.multiprocessors(),)
        kernel(grid, (BLOCK,), (values, out, scale, shift, *map(np.int32, counts)))

    def element_type(self, out):
        """The type of an array's elements, as in the names of the kernels."""
        return {"uint16": self.math, "uint8": "uint8"}.get(out.dtype.name, "float32")

    def input_array(self, variant, shape):
        return operands.zeros(Cuda(), shape, self.math) if reads_operands(variant) else cuda.empty(shape, "float32")

    def layer(self, variant, problem, next_variant, fused):
        if "product" in getattr(variant, "USES", {}):
            return variant.layer(problem, product=self.product, **fused)
        if not reads_operands(variant):
            return variant.layer(problem, **fused)
        writes_operands = fused and next_variant is not None and reads_operands(next_variant)
        options = {"result": "operands"} if writes_operands else {}
        if getattr(variant, "OVERLAPS", False):
            options["overlaps"] = True  # valid: the projection runs between the layer's preparation and any layer
        return variant.layer(problem, math=self.math, **fused, **options)


def reads_operands(variant):
    """Whether a variant of `tconv` reads the operands of tensor cores."""
    return getattr(variant, "READS_OPERANDS", False)


def generator(network, sizes, *, first, last, split, batch, epilogue, math, product):
    """The Generator of a network in the GPU's memory."""
    problem = SimpleNamespace(network=network, sizes=sizes, device=Cuda(), pictures=sizes["pictures"])
    operations = Operations(sizes["channels"], batch, math, product)
    return Generator(problem, operations, first=first, last=last, split=split, batch=batch, epilogue=epilogue)
