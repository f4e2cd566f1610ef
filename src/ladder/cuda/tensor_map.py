"""Tensor maps: descriptors of arrays for a GPU's copy engine, compute capability 9.0; see `include/ptx/tma.cuh`."""

import ctypes

import numpy as np

from ladder.cuda import driver
from ladder.errors import LadderError

BYTES, ALIGNMENT = 128, 64  # of a CUtensorMap
# Values of the driver's enumerations.
TYPES = {"uint16": 1, "float32": 7}
SWIZZLE_OF_128_BYTES, PROMOTION_TO_256_BYTES = 3, 3


def encode(address, dtype, shape, strides, box):
    """The tensor map of an array on the GPU, an argument of a kernel: a NumPy array of one opaque value.

    `shape` begins with the contiguous axis; `strides` are in bytes, for all other axes. `box` is the shape of a copy,
    128 bytes along the first axis. A copy arrives in shared memory with the 128-byte swizzle, and is zero outside the
    array. Raises LadderError if the driver refuses.
    """
    store = np.zeros(BYTES + ALIGNMENT, np.uint8)
    start, rank = -store.ctypes.data % ALIGNMENT, len(shape)
    status = driver.library().cuTensorMapEncodeTiled(
        ctypes.c_void_p(store.ctypes.data + start),
        TYPES[dtype.name],
        rank,
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*shape),
        (ctypes.c_uint64 * (rank - 1))(*strides),
        (ctypes.c_uint32 * rank)(*box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        0,  # not interleaved
        SWIZZLE_OF_128_BYTES,
        PROMOTION_TO_256_BYTES,
        0,  # zeros outside
    )
    if status:
        raise LadderError(f"The driver refuses a tensor map of {shape} numbers in boxes of {box}: status {status}.")
    return store[start : start + BYTES].view(f"V{BYTES}")
