"""Tensor maps, which describe arrays to the tensor memory accelerator of GPUs since compute capability 9.0 (Hopper).

`workloads/include/ptx/tma.cuh` has the copies that use them.
"""

import ctypes
from typing import Any

import numpy as np

from ladder.cuda import driver
from ladder.errors import LadderError

MAP_BYTES, MAP_ALIGNMENT = 128, 64  # of a CUtensorMap
# Values of the enumerations CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion.
TYPES = {"uint16": 1, "float32": 7, "float64": 8, "tf32": 11}
SWIZZLE_OF_128_BYTES, PROMOTION_TO_256_BYTES = 3, 3


def encode(
    address: int, element_type: Any, shape: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...]
) -> np.ndarray:
    """The tensor map of an array on the GPU, as an argument of a kernel: a NumPy array of one opaque value.

    `element_type` is a dtype, or "tf32" for float32 that a copy rounds to TF32. `shape` begins with the contiguous
    axis; `strides` has those of all other axes in bytes. `box` is the shape of a copy, whose first axis takes 128
    bytes. A copy arrives in shared memory with the 128-byte swizzle; elements outside the array are zero. Raises
    LadderError if the driver refuses.
    """
    buffer = np.zeros(MAP_BYTES + MAP_ALIGNMENT, np.uint8)
    start = -buffer.ctypes.data % MAP_ALIGNMENT
    rank = len(shape)
    status = driver.library().cuTensorMapEncodeTiled(
        ctypes.c_void_p(buffer.ctypes.data + start),
        TYPES[str(element_type)],
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
    return buffer[start : start + MAP_BYTES].view(f"V{MAP_BYTES}")
