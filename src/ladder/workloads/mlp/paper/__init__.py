"""The chapter on matrix products and on a training that uses them. Only literals: docs/contracts.md."""

ORDER = 20
TITLE = "Matrix products and training"
CATEGORY = "MLP"
TABLES = ("peers", "gpu", "earlier", "earlier_gpu")
# Trainings are compared by the variant of `gemm` that computes their products.
METHOD = ("product",)
LOOKS = {  # {method: (label, colour, marker, dashes)}; further methods look as in other chapters
    "numpy_loop": ("numpy_loop", "pink", "P", ""),
    "pytorch": ("pytorch", "sky", "X", ""),
    "pytorch_cuda": ("pytorch_cuda", "sky", "h", ""),
}
