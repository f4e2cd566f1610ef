"""Compilation ahead of measuring: CUDA kernels and their occupancy, C libraries, what Numba and PyTorch compile."""
