"""How figures call a training."""

from ladder.report.figures import medians


def title(row):
    """A training by its layers, images and batches, in three lines."""
    first = ", ".join([str(row["layers"]), row["activation"], *medians.unusual(row)])
    return f"{first}\n{row['images']:,} images of {row['source']}\nbatches of {row['batch']:,}"
