"""The paper's chapter on products of two matrices."""

ORDER = 10
TITLE = "Matrix products"
TABLES = ("square", "threads", "gpu", "gpu_training")
