"""How figures call a product of matrices."""

from ladder.report.figures import medians


def title(row, form=True):
    """A matrix product by its form and size: `nn: 1000 × 300 × 784`, with dtype and cache where they are unusual."""
    shape = f"{row['m']} × {row['n']} × {row['k']}"
    return ", ".join([f"{row['form']}: {shape}" if form else shape, *medians.unusual(row)])
