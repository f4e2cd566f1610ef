"""What workloads may ask of a data set: so many images, and networks that begin and end with what it has."""

MOST = {"mnist": 60000, "digits": 1437}  # images for training


def refuse_images(workload, sizes):
    """Why a source has too few images, or None."""
    if sizes["images"] > MOST[sizes["source"]]:
        return f"images={sizes['images']} of {workload} is more than {sizes['source']} has."
    return None


def refuse_network(workload, sizes, example):
    """Why these layers, such as those of the example, are no network for images of digits, or None."""
    widths = str(sizes["layers"]).split("-")
    if len(widths) < 2 or not all(width.isdigit() and int(width) for width in widths):
        return f"layers={sizes['layers']!r} of {workload} must be widths joined by '-', such as {example}."
    if (widths[0], widths[-1]) != ("784", "10"):
        return f"layers={sizes['layers']!r} of {workload} must begin with the 784 pixels and end with the 10 digits."
    return None
