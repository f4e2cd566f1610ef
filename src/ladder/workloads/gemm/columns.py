"""Descriptions of the columns that gemm's sizes and tunings have in the tables."""

COLUMNS = {
    "form": "the product: nn is A B, tn is A^T B, nt is A B^T + C",
    "m": "rows of the result",
    "n": "columns of the result",
    "k": "terms of each sum",
    "source": "where A comes from: random numbers, or the images of a data set",
    "block": "on a GPU, the side of a block of threads, which is as wide as high",
    "bm": "rows of the result that a block of threads computes; 0: chosen by the shape",
    "bn": "columns of the result that a block of threads computes; 0: chosen by the shape",
    "bk": "terms of a sum that a block of threads loads in one step; 0: chosen by the shape",
    "wm": "rows of the result that a warp computes; 0: chosen by the shape",
    "wn": "columns of the result that a warp computes; 0: chosen by the shape",
    "tm": "rows of the result that a thread computes; 0: chosen by the shape",
    "tn": "columns of the result that a thread computes; 0: chosen by the shape",
    "stages": "tiles in flight or in use; 0: chosen by the shape",
    "splitk": "blocks of threads that share the sums of a tile; 0: chosen by the shape",
    "stream_k": "whether tiles that are left over are split along k among all blocks of threads",
    "cluster": "blocks of threads that multicast tiles to each other; 0: chosen by the shape",
    "blocks": "blocks of threads on a multiprocessor; 0: chosen by the shape",
    "conversion": "whether the conversion of the operands is timed, or done ahead of the timed call",
}
