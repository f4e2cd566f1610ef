"""What is compiled ahead of measuring: CUDA kernels, and what Numba compiles."""
