"""The supplement's section on matrix products, the base of the training's chapter. Only literals: docs/contracts.md."""

ORDER = 21
TITLE = "Matrix products"
TABLES = ("square", "threads", "gpu", "gpu_mixed", "gpu_training")
LOOKS = {  # {method: (label, colour, marker, dashes)}
    "openmp": ("openmp", "red", "o", ""),
    "interchanged": ("interchanged", "orange", "^", (5, 1.5)),
    "tiled": ("tiled", "green", "s", (3, 1, 1, 1)),
    "blas": ("blas", "blue", "D", (1, 1)),
    "cuda_naive": ("cuda_naive", "red", "*", ""),
    "cuda_shared": ("cuda_shared", "orange", "d", ""),
    "cuda_columns": ("cuda_columns", "indigo", (10, 0, 0), ""),
    "cuda_tiled": ("cuda_tiled", "green", "8", ""),
    "cuda_skinny": ("cuda_skinny", "teal", (6, 0, 30), ""),
    "cuda_packed": ("cuda_packed", "wine", (4, 0, 45), ""),
    "cuda_mma": ("cuda_mma", "pink", "H", ""),
    "cuda_tma": ("cuda_tma", "olive", "<", ""),
    "cuda_wgmma": ("cuda_wgmma", "grey", (5, 0, 36), ""),
    "cublas": ("cublas", "blue", "p", ""),
    "cublas_mixed": ("cublas_mixed", "brown", (8, 0, 22), ""),
    "cublas_lt": ("cublas_lt", "purple", (7, 0, 26), ""),
    "c_openmp": ("c_openmp", "brown", "v", (4, 1, 1, 1, 1, 1)),
}
