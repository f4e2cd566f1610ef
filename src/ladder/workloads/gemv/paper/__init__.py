"""The chapter on matrix-vector products, from one core to several GPUs. Only literals: docs/contracts.md."""

ORDER = 30
TITLE = "Matrix-vector products"
CATEGORY = "GEMV"
TABLES = ("sizes", "break_even", "threads", "ranks", "gpu", "gpus")
LOOKS = {  # {method: (label, colour, marker, dashes)}; further methods look as in other chapters
    "openmp_bound": ("openmp_bound", "orange", ">", (5, 1.5)),
    "mpi": ("mpi", "pink", (4, 1, 0), (6, 1, 1, 1)),
    "mpi_openmp": ("mpi_openmp", "olive", (4, 1, 45), (2, 1)),
    "cuda_coalesced": ("cuda_coalesced", "pink", (3, 1, 0), ""),
    "cuda_warp": ("cuda_warp", "green", (6, 1, 0), ""),
    "mpi_cublas": ("mpi_cublas", "sky", (5, 1, 0), (4, 1)),
    "nccl_cublas": ("nccl_cublas", "indigo", (8, 1, 0), (1, 1)),
}
