"""The paper's chapter on products of matrices and the training that takes them."""

ORDER = 20
TITLE = "Matrix products and training"
TABLES = ("ladder", "verdicts", "peers", "gpu", "compared")
# A training is compared by whose products it takes.
METHOD = ("product",)
LOOKS = {
    "numpy_loop": ("NumPy by hand", "pink", "P", ""),
    "pytorch": ("PyTorch", "sky", "X", ""),
    "pytorch_cuda": ("PyTorch on the GPU", "sky", "h", ""),
}
