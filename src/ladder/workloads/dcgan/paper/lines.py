"""Sources and lines of the chapter; `home` copies pictures to the host, `tma` loads inputs by the TMA."""

from ladder.report.telling.lines import MAX, UNSTATED, Line, Needs, Source, select, widest
from ladder.store import collect, study
from ladder.workloads.dcgan import layout

UNIT = "Picture"
# Sizes of the claims: the network of the earlier study, and its largest number of images. Its own kernels take so long
# that a hundred images, one batch, tell as much; those of the host have a few.
SIZE = {"channels": layout.CHANNELS, "weights": "random", "pictures": "float32", "dtype": "float32"}
IMAGES = 5248
HOST_IMAGES, RUNG_IMAGES, SPLIT_IMAGES, STAGED_IMAGES = 4, 100, 16, 1000
FULL_SIZE = SIZE | {"images": IMAGES}
SPLITS, STAGED, GPUS = "dcgan_splits", "dcgan_staged", "dcgan_cards"
ON_RANKS = "dcgan_few", "dcgan_many", "dcgan_ranks"  # the first two with the kernels of the earlier study
ON_GPUS = "dcgan_cards_half", "dcgan_cards_pageable", "dcgan_cards_graph"
# Phases that aren't part of every call; the parts of a call in the waterfall.
OUTSIDE = {"phase": ("to device", "to host", "load", "pack", "fold", "norms")}
PHASES = ("projection", "layer 1", "layer 2", "layer 3", "layer 4", "epilogues")


def network_layers(rows):
    """The rows of the full network's layers, at their largest number of images."""
    layers = collect.concatenate([study.where(rows, h=h, c=c, k=k) for h, c, k in layout.layers(layout.CHANNELS)])
    return layers[layers["images"] == layers["images"].max()] if len(layers) else layers


SOURCES = {
    "host": Source("host", "dcgan_host", images=HOST_IMAGES, **SIZE),
    "rungs": Source("gpu", "dcgan_rungs", images=RUNG_IMAGES, **SIZE),
    "splits": Source("gpu", SPLITS, images=SPLIT_IMAGES, **SIZE),
    "staged": Source("gpu", STAGED, images=STAGED_IMAGES, **SIZE),
    # A case of several experiments is that of the first, in which campaigns measure it.
    "gpu": Source("gpu", "dcgan_peers", "dcgan_home", "dcgan_gpu", **FULL_SIZE),
    "screen": Source("screen", "dcgan_home_uint8", **FULL_SIZE | {"pictures": "uint8"}),
    "floats": Source("screen", "dcgan_peers", "dcgan_home", **FULL_SIZE),
    "layers": Source("layers", "tconv_gpu_large", "tconv_gpu_pictures", dtype="float32", prepare=network_layers),
    "ranks": Source("ranks", *ON_RANKS, GPUS, **SIZE),
    "threads": Source("most", GPUS, **SIZE),
    "most": Source("most", GPUS, "dcgan_ranks", "dcgan_weak", *ON_GPUS, **SIZE),
}
MACHINES = {
    "host": Needs(("host",)),
    "gpu": Needs(("rungs", "gpu"), frozenset({"cuda"})),
    "ranks": Needs(("ranks",), min={"ranks": 2}, separate=True),
    "most": widest("threads", "gpus"),
    "screen": Needs(("screen",), separate=True),
    "layers": Needs(("layers",), separate=True),
}
TENSOR_CORES = {"first": "cuda_implicit_wgmma", "last": "cuda_window_mma"}
TMA = TENSOR_CORES | {"first": "cuda_implicit_tma"}
TF32, FLOAT16 = {"math": "tf32"}, {"math": "float16"}
IN_LARGE, IN_SMALL = {"batch": 1280}, {"batch": 128}
TAPERED = TF32 | {"batch": 528, "batches": "tapered"}
ON_ONE_STREAM = {"streams": 1, "graph": "on"}
FUSED = {"batch": HOST_IMAGES, "epilogue": "fused"}
ONE_THREAD, PARITY, TILED = {"threads": 1}, {"first": "parity", "last": "parity"}, {"first": "tuned", "last": "tuned"}
MIXED = {"first": "tuned", "last": "blas", "split": 3}
TUNED = {"turned": "on", "compiled": "on"}
SEPARATE = {"batch": RUNG_IMAGES, "epilogue": "separate"}
# The kernels of the earlier study in the end: three products of gathered matrices, a direct kernel for the last layer.
GATHERED = SEPARATE | {"first": "cuda_im2col", "last": "cuda_parity", "product": "cuda_columns", "split": 3}
OURS = {"first": UNSTATED, "math": UNSTATED}


def on_host(label, idea, relieves, tuning):
    """A line of the host."""
    return Line("host", {"threads": MAX} | tuning, "host", idea, relieves, label)


def on_gpu(label, idea, relieves, tuning, source="rungs"):
    """A line of one GPU, without copies to the host."""
    return Line("cuda", tuning, source, idea, relieves, label, begins=label == "naive")


def to_host(label, idea, relieves, tuning, begins=False):
    """A line of one GPU with the copies to the host."""
    return Line("home", {"gpus": 1} | tuning, "gpu", idea, relieves, label, begins=begins)


def peer(label, math, begins=False):
    """PyTorch's generator on a GPU with the copies to the host."""
    tuning = TUNED | {"math": math, "batch": 656}
    return Line("pytorch_home", tuning, "gpu", "PyTorch, cuDNN, copies hidden", label=label, begins=begins)


WINDOW = {"first": "cuda_implicit", "last": "cuda_window", "split": 3, "graph": UNSTATED, "epilogue": UNSTATED}
LINES = {
    "loops": on_host("loops", "a branch for every zero", "", ONE_THREAD | {"first": "loops", "last": "loops"}),
    "parity": on_host("parity", "loops at the right parity, vectors of channels", "a branch", ONE_THREAD | PARITY),
    "tuned": on_host("tuned", "products of exact size in registers", "caches, cores", FUSED | TILED),
    "mixed": on_host("tuned, BLAS", "BLAS for the last layer's few channels", "idle registers", FUSED | MIXED),
    "naive": on_gpu("naive", "a thread per element of a layer", "cores", SEPARATE | {"first": "cuda_naive"}),
    "gpu-parity": on_gpu("parity", "the same at the right parity", "a branch", SEPARATE | {"first": "cuda_parity"}),
    "tiles": on_gpu("3 + 1, tiles", "products of gathered matrices", "memory", GATHERED | {"product": "cuda_shared"}),
    "columns": on_gpu("3 + 1, columns", "one operand of a product in a register", "shared memory", GATHERED),
    "implicit": on_gpu(
        "3 + 1, implicit",
        "products without zeros, nothing gathered",
        "multiply-adds",
        SEPARATE | {"first": "cuda_implicit", "last": "cuda_parity", "split": 3},
    ),
    "window": on_gpu("3 + 1, window", "a window of pixels, fused layers", "loads", WINDOW | IN_LARGE, "gpu"),
    "tma": on_gpu("half, TMA", "tensor cores", "multiply-adds", TMA | FLOAT16 | IN_LARGE, "gpu"),
    "home": to_host(
        "float32", "hidden copies", "the link", {"memory": "pinned", "copies": "hidden", "batch": 512} | OURS, True
    ),
    "home-graph": to_host(
        "float32, graph", "two streams, one graph", "launches", {"streams": 2, "graph": "on", "batch": 512} | OURS
    ),
    "home-tma-tf32": to_host("TF32, TMA", "tensor cores, small last batches", "multiply-adds", TMA | TAPERED),
    "home-tma": to_host("half, TMA", "operands half as large", "memory", TMA | ON_ONE_STREAM | FLOAT16 | IN_SMALL),
    "pytorch": Line("pytorch", {"threads": MAX, "batch": HOST_IMAGES}, "host", begins=True),
    "peer-home": peer("float32", "default", True),
    "peer-home-tf32": peer("TF32", "tf32"),
}
TABLE, FIGURE = [[key for key, line in LINES.items() if line.idea]], list(LINES)
# Further lines, for claims, texts and tables only. `ranks-then` has the kernels and the memory of the earlier study.
SINGLE = {"math": UNSTATED, "memory": UNSTATED, "copies": UNSTATED}
GRAPHS = SINGLE | {"graph": "on"}
LINES |= {
    "split": Line("cuda", {"first": "cuda_im2col"}, "splits"),
    "staged": Line("home", {"first": "cuda_im2col"}, "staged"),
    "copied": Line("home", {"streams": 1, "batches": UNSTATED, "batch": 512} | OURS, "gpu"),
    "ranks-then": Line("mpi_home", {"ranks": MAX, "first": "cuda_im2col", "memory": "staged"}, "ranks"),
    "ranks": Line("mpi_home", {"ranks": MAX, "first": UNSTATED}, "ranks"),
    "threads": Line("home", SINGLE | {"graph": UNSTATED, "gpus": MAX}, "most"),
    "graph": Line("home", GRAPHS | {"batches": UNSTATED, "gpus": MAX}, "most"),
    "tapered": Line("home", GRAPHS | {"batches": "tapered", "gpus": MAX}, "most"),
    "pageable": Line("home", SINGLE | {"memory": "pageable", "gpus": MAX}, "most"),
    "half": Line("home", SINGLE | {"math": "float16", "gpus": MAX}, "most"),
    "screen": Line("home", TMA | ON_ONE_STREAM | TAPERED | {"batch": 1056}, "screen"),
}


def on_gpus(way, source, count, images=IMAGES):
    """The selection of `images` pictures drawn on `count` GPUs; `way` is the key of a line, such as `ranks`."""
    return select(way, source, **{"ranks" if way.startswith("ranks") else "gpus": count}, images=images)


def cold(selection):
    """A selection's start and first call in each process, if they were recorded."""
    return selection.in_column("cold_start")


def per_unit(rows):
    """Seconds of a picture."""
    return rows["seconds"] / rows["images"]
