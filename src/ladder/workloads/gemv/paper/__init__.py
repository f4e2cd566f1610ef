"""The paper's chapter on products of a matrix and a vector."""

ORDER = 30
TITLE = "Matrix-vector products"
TABLES = ("threads", "mpi", "gpu", "cards")
