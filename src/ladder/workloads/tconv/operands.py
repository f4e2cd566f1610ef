"""The operands of tensor cores: arrays in half precision or rounded to TF32, whose rows are whole vectors."""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.harness.steps import Steps

BLOCK = 256  # threads, as in `include/tensor_operands.cuh`
BLOCKS_PER_MULTIPROCESSOR = 8
OPERANDS_PER_VECTOR = {"tf32": 4, "float16": 8, "bfloat16": 8}  # of 16 bytes
TYPES = {"tf32": "float32", "float16": "uint16", "bfloat16": "uint16"}  # as bits, since CuPy has no bfloat16


def zeros(device, shape, math):
    """An array of zeros for the operands of an array of this shape; its rows are padded to whole vectors."""
    row_length = -(-shape[-1] // OPERANDS_PER_VECTOR[math]) * OPERANDS_PER_VECTOR[math]
    array = device.empty((*shape[:-1], row_length), TYPES[math])
    array[...] = 0
    return array


def writer(variant, math, **tuning):
    """A function `write(array, operands)`, which rounds float32 by a variant's kernel."""
    kernel = cuda.kernel("tconv", variant, f"{math}_operands", "float32", **tuning)

    def write(array, operands):
        counts = np.int64(array.size // array.shape[-1]), np.int32(array.shape[-1]), np.int32(operands.shape[-1])
        kernel((BLOCKS_PER_MULTIPROCESSOR * cuda.multiprocessors(),), (BLOCK,), (array, operands, *counts))

    return write


def steps(problem, layer, math, write):
    """The Steps of a case with one layer.

    The conversion of the image to operands is a timed step of its own. With TF32 it isn't needed if the channels fill
    whole vectors: the layer then reads the float32 image itself.
    """
    prepare = list(layer.prepare)
    if math == "tf32" and problem.sizes["c"] % OPERANDS_PER_VECTOR[math] == 0:
        return Steps([(None, partial(layer.run, problem.image, problem.out))], prepare=prepare)
    image = zeros(problem.device, problem.image.shape, math)
    timed = [("operands", partial(write, problem.image, image)), ("product", partial(layer.run, image, problem.out))]
    return Steps(timed, prepare=prepare)
