"""The machine whose card the chapters speak of: the first that has measured products on one."""

DTYPES = ("float64", "float32")
SQUARE = {dtype: f"gemm_gpu_{dtype}" for dtype in DTYPES}


def on_card(found):
    """The study about that machine, else about none."""
    return found.first_with(*SQUARE.values())
