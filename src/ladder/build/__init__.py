"""Compilation ahead of measuring: CUDA kernels, C libraries, and Numba's functions."""
