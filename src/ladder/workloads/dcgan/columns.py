"""Descriptions of the columns that dcgan's sizes and tunings have in the tables."""

COLUMNS = {
    "images": "pictures that a call generates",
    "channels": "channels after the projection; each layer halves them",
    "weights": "whether the weights are random or trained",
    "pictures": "the type of a picture's numbers: float32, or uint8 for 8-bit pixels",
    "first": "the variant of tconv for the first layers",
    "last": "the variant of tconv for the last layers",
    "split": "the number of first layers",
    "batch": "pictures of a batch",
    "batches": "whether batches are even, or the last ones become smaller (tapered)",
    "epilogue": "where batch norm and activation are computed: separate pass, folded into weights, fused into layers",
    "memory": "the host memory that pictures are copied to: pinned, staged in a pinned buffer, or pageable",
    "copies": "whether a device-to-host copy is hidden behind the next batch, or precedes it (after)",
    "streams": "CUDA streams among which batches alternate",
    "vector": ("length of a vector", "B"),
    "turned": "whether filters and images are rotated by 180 degrees ahead of the timed call",
}
