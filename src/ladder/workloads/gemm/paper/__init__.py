"""What the supplement has of products of two matrices, on which the chapter of the training stands."""

ORDER = 21
TITLE = "Matrix products"
TABLES = ("square", "threads", "gpu", "gpu_mixed", "gpu_training")
LOOKS = {
    "openmp": ("OpenMP loops", "red", "o", ""),
    "interchanged": ("loops interchanged", "orange", "^", (5, 1.5)),
    "tiled": ("tiled", "green", "s", (3, 1, 1, 1)),
    "blas": ("BLAS", "blue", "D", (1, 1)),
    "cuda_naive": ("CUDA naive", "red", "*", ""),
    "cuda_shared": ("CUDA shared memory", "orange", "d", ""),
    "cuda_columns": ("CUDA columns", "indigo", (10, 0, 0), ""),
    "cuda_tiled": ("CUDA register tiles", "green", "8", ""),
    "cuda_mma": ("CUDA tensor cores", "pink", "H", ""),
    "cublas": ("cuBLAS", "blue", "p", ""),
    "cublas_mixed": ("cuBLAS, mixed precision", "brown", (8, 0, 22), ""),
    "c_openmp": ("OpenMP loops in C", "brown", "v", (4, 1, 1, 1, 1, 1)),
}
