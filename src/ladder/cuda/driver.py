"""NVIDIA's driver by ctypes, for functions that CuPy lacks."""

import ctypes
import functools


@functools.cache
def library() -> ctypes.CDLL:
    """The driver's library."""
    return ctypes.CDLL("libcuda.so.1")
