"""NVIDIA's driver by ctypes, for what CuPy has no function for."""

import ctypes
import functools


@functools.cache
def library():
    """The driver's library."""
    return ctypes.CDLL("libcuda.so.1")
