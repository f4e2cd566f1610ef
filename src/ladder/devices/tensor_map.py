"""Tensor maps: what a card's copy engine is told of an array, compute capability 9.0; see `include/tma.cuh`."""

import ctypes

import numpy as np

from ladder.devices import driver
from ladder.errors import LadderError

BYTES, ALIGNMENT = 128, 64  # of a CUtensorMap
# Values of the driver's enumerations.
TYPES = {"uint16": 1, "float32": 7}
SWIZZLE_OF_128_BYTES, PROMOTION_TO_256_BYTES = 3, 3


def encode(address, dtype, shape, strides, box):
    """The tensor map of an array on the card, an argument of a kernel: a NumPy array of one opaque value.

    `shape` begins with the axis whose numbers are neighbours, and `strides` are the bytes between neighbours along all
    others. `box` has how many numbers along each axis a copy brings, 128 bytes of them along the first. They come to
    shared memory with the swizzle of 128 bytes, and are zero outside the array. Raises LadderError where the driver
    refuses.
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
