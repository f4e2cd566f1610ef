"""How figures call a product of a matrix and a vector."""

from ladder.report.figures import medians


def title(row):
    """A matrix-vector product by its matrix: `8,192 × 16,384`, with dtype and cache where they aren't the usual."""
    return ", ".join([f"{row['n']:,} × {row['m']:,}", *medians.unusual(row)])
