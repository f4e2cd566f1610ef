"""The paper's chapter on products of a matrix and a vector."""

ORDER = 30
TITLE = "Matrix-vector products"
TABLES = ("threads", "mpi", "gpu", "cards")
# Threads bound to cores are another method for every way of binding, loops in C for every schedule.
METHOD = ("variant", "binding", "schedule")
LOOKS = {
    "openmp": ("openmp", "red", "o", ""),
    "openmp_bound spread": ("OpenMP, bound spread", "orange", ">", (5, 1.5)),
    "openmp_bound close": ("OpenMP, bound close", "green", "<", (3, 1, 1, 1)),
    "c_openmp static": ("C, static schedule", "indigo", (6, 0, 30), (2, 2)),
    "c_openmp dynamic": ("C, dynamic schedule", "rose", (3, 0, 180), (4, 2)),
    "c_openmp guided": ("C, guided schedule", "grey", (5, 0, 180), (6, 2)),
    "blas": ("blas", "blue", "D", (1, 1)),
    "mpi": ("MPI", "pink", (4, 1, 0), (6, 1, 1, 1)),
    "mpi_openmp": ("MPI + OpenMP", "sky", (4, 1, 45), (2, 1)),
    "cuda_naive": ("cuda_naive", "red", "*", ""),
    "cuda_coalesced": ("CUDA transposed", "pink", (3, 1, 0), ""),
    "cuda_shared": ("cuda_shared", "orange", "d", ""),
    "cuda_warp": ("CUDA warps on rows", "green", (6, 1, 0), ""),
    "cublas": ("cublas", "blue", "p", ""),
    "mpi_cublas": ("MPI + cuBLAS", "sky", (5, 1, 0), (4, 1)),
    "nccl_cublas": ("NCCL + cuBLAS", "indigo", (8, 1, 0), (1, 1)),
}
