"""The chapter on steepest descent, its elementary kernels and conjugate gradients. Literals: docs/contracts.md."""

ORDER = 40
TITLE = "Steepest descent"
CATEGORY = "Descent"
TABLES = ("elements", "bandwidth")
LOOKS = {  # {method: (label, colour, marker, dashes)}; further methods look as in other chapters
    "cuda_version1": ("CUDA version 1", "grey", (7, 1, 0), ""),
    "cuda_version2": ("CUDA version 2", "red", (5, 0, 0), ""),
    "cuda_fused": ("CUDA fused", "salmon", (7, 0, 0), ""),
    "cuda_persistent": ("CUDA persistent", "rose", (9, 1, 0), ""),
    "cuda_cluster": ("CUDA cluster", "orange", (10, 1, 0), ""),
    "cuda_symmetric": ("CUDA symmetric", "sky", (3, 1, 30), ""),
    "scipy_cg": ("SciPy's CG", "sky", (3, 1, 60), ""),
    "scipy_cholesky": ("SciPy's Cholesky", "indigo", (3, 1, 90), ""),
    "cupy_loop": ("CuPy by hand", "brown", (4, 1, 22), ""),
    "cupy_cg": ("CuPy's CG", "rose", (5, 1, 36), ""),
    "cusolver": ("cuSOLVER", "indigo", (6, 1, 30), ""),
}
