"""The machines of which the supplement's tables of products speak."""

DTYPES = ("float64", "float32")
SQUARE = {dtype: f"gemm_gpu_{dtype}" for dtype in DTYPES}
ON_HOST = ("gemm_square", "gemm_threads")


def on_card(found):
    """The study about the first machine with products on a card, in float64 if any has; else about none."""
    double = found.first_with(SQUARE["float64"])
    return double if double.subject else found.first_with(*SQUARE.values())


def on_host(found):
    """The study about the same machine if its cores were measured too, else about the first whose were."""
    card = on_card(found)
    is_there = any(len(card.samples(name, device="host")) for name in ON_HOST)
    return card if is_there else found.first_with(*ON_HOST, device="host")
