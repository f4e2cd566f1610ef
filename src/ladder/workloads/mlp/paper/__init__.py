"""The paper's chapter on the training of a multilayer perceptron."""

ORDER = 20
TITLE = "Training"
TABLES = ("threads", "peers", "gpu", "compared")
# A training is compared by whose products it takes.
METHOD = ("product",)
LOOKS = {
    "numpy_loop": ("NumPy by hand", "pink", "P", ""),
    "pytorch": ("PyTorch", "sky", "X", ""),
    "pytorch_cuda": ("PyTorch on the GPU", "sky", "h", ""),
}
