"""The paper's chapter on products of matrices and the training that takes them."""

ORDER = 20
TITLE = "Matrix products and training"
CATEGORY = "MLP"
TABLES = ("peers", "gpu", "compared")
# A training is compared by whose products it takes.
METHOD = ("product",)
LOOKS = {
    "numpy_loop": ("numpy_loop", "pink", "P", ""),
    "pytorch": ("pytorch", "sky", "X", ""),
    "pytorch_cuda": ("pytorch_cuda", "sky", "h", ""),
}
