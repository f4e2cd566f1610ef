"""Sources and lines of the chapter; `home` copies pictures to the host, `tma` loads inputs by the TMA."""

from ladder.report.telling.lines import MAX, OFF, UNSTATED, Line, Needs, Source, select
from ladder.store import collect, study
from ladder.workloads.dcgan import layout

UNIT = "Picture"
# Sizes of the claims: the network of the earlier study, and its largest number of images. Its kernels are so slow that
# one batch of a hundred images suffices to time them; on the host, a few images do.
SIZE = {"channels": layout.CHANNELS, "weights": "random", "pictures": "float32", "dtype": "float32"}
IMAGES = 5248
HOST_IMAGES, RUNG_IMAGES, SPLIT_IMAGES, STAGED_IMAGES = 4, 100, 16, 1000
FULL_SIZE = SIZE | {"images": IMAGES}
SPLITS, STAGED, GPUS = "dcgan_splits", "dcgan_staged", "dcgan_cards"
RANK_EXPERIMENTS = "dcgan_few", "dcgan_many", "dcgan_ranks"  # the first two with the kernels of the earlier study
GPU_EXPERIMENTS = "dcgan_cards_half", "dcgan_cards_pageable", "dcgan_cards_graph"
# Phases outside of calls; the parts of a call in the waterfall.
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
    # A case in several experiments is taken from the first of them, so those that campaigns measure come first.
    "gpu": Source("gpu", "dcgan_peers", "dcgan_home", "dcgan_gpu", **FULL_SIZE),
    "uint8": Source("uint8", "dcgan_home_uint8", **FULL_SIZE | {"pictures": "uint8"}),
    "float32": Source("uint8", "dcgan_peers", "dcgan_home", **FULL_SIZE),
    "layers": Source("layers", "tconv_gpu_large", "tconv_gpu_pictures", dtype="float32", prepare=network_layers),
    "ranks": Source("ranks", *RANK_EXPERIMENTS, GPUS, **SIZE),
    "several GPUs": Source("widest", GPUS, **SIZE),
    "most GPUs": Source("widest", GPUS, "dcgan_ranks", "dcgan_weak", *GPU_EXPERIMENTS, **SIZE),
}
MACHINES = {
    "host": Needs(("host",)),
    "gpu": Needs(("rungs", "gpu"), frozenset({"cuda"})),
    "ranks": Needs(("ranks",), min={"ranks": 2}, separate=True),
    "widest": Needs(("several GPUs",), widest="gpus"),
    "uint8": Needs(("uint8",), separate=True),
    "layers": Needs(("layers",), separate=True),
}
# Tunings of the host.
ONE_THREAD = {"threads": 1}
LOOPS, PARITY = (ONE_THREAD | {"first": name, "last": name} for name in ("loops", "parity"))
FUSED = {"threads": MAX, "batch": HOST_IMAGES, "epilogue": "fused", "first": "tuned"}
TILED, WITH_BLAS = FUSED | {"last": "tuned"}, FUSED | {"last": "blas", "split": 3}
# Tunings of the kernels of the earlier study: in the end three im2col products, and a direct kernel for the last layer.
SEPARATE = {"batch": RUNG_IMAGES, "epilogue": "separate"}
NAIVE, GPU_PARITY = (SEPARATE | {"first": name} for name in ("cuda_naive", "cuda_parity"))
IM2COL = SEPARATE | {"first": "cuda_im2col", "last": "cuda_parity", "product": "cuda_columns", "split": 3}
TILES = IM2COL | {"product": "cuda_shared"}
# Tunings of our kernels.
IMPLICIT = SEPARATE | {"first": "cuda_implicit", "last": "cuda_parity", "split": 3}
WINDOW = {"first": "cuda_implicit", "last": "cuda_window", "split": 3, "graph": UNSTATED, "epilogue": UNSTATED}
TMA = {"first": "cuda_implicit_tma", "last": "cuda_window_mma"}
TF32, FLOAT16 = {"math": "tf32"}, {"math": "float16"}
LARGE_BATCH, SMALL_BATCH = {"batch": 1280}, {"batch": 128}
TAPERED = TF32 | {"batch": 528, "batches": "tapered"}
ON_ONE_GPU, ON_ONE_STREAM = {"gpus": 1}, {"streams": 1, "graph": "on"}
OUR_BASE = {"first": UNSTATED, "math": UNSTATED, "batch": 512}
HIDDEN_COPIES, AS_GRAPH = {"memory": "pinned", "copies": "hidden"} | OUR_BASE, {"streams": 2, "graph": "on"} | OUR_BASE
TMA_TF32, TMA_FLOAT16 = TMA | TAPERED | ON_ONE_GPU, TMA | ON_ONE_STREAM | FLOAT16 | SMALL_BATCH | ON_ONE_GPU
ON_HOST = {"threads": MAX, "batch": HOST_IMAGES, "turned": OFF}  # of PyTorch
PEER, PEER_IDEA = {"turned": "on", "compiled": "on", "batch": 656}, "PyTorch compiled, cuDNN, copies hidden"
LINES = {
    "loops": Line("host", LOOPS, "host", "a branch for every zero", "", "loops"),
    "parity": Line("host", PARITY, "host", "loops at the right parity, vectors of channels", "a branch", "parity"),
    "tuned": Line("host", TILED, "host", "products without zeros, tiles in registers", "caches, cores", "tuned"),
    "blas": Line("host", WITH_BLAS, "host", "BLAS for the last layer's few channels", "idle registers", "tuned, BLAS"),
    "naive": Line("cuda", NAIVE, "rungs", "a thread per element and channel", "cores", "naive", begins=True),
    "gpu-parity": Line("cuda", GPU_PARITY, "rungs", "the same at the right parity", "a branch", "parity"),
    "tiles": Line("cuda", TILES, "rungs", "im2col products", "memory", "3 + 1, tiles"),
    "columns": Line("cuda", IM2COL, "rungs", "one operand in a register", "shared memory", "3 + 1, columns"),
    "implicit": Line("cuda", IMPLICIT, "rungs", "implicit products, no zeros", "multiply-adds", "3 + 1, implicit"),
    "window": Line("cuda", WINDOW | LARGE_BATCH, "gpu", "a window of pixels, fused layers", "loads", "3 + 1, window"),
    "tma": Line("cuda", TMA | FLOAT16 | LARGE_BATCH, "gpu", "tensor cores", "multiply-adds", "half, TMA"),
    "home": Line("home", ON_ONE_GPU | HIDDEN_COPIES, "gpu", "hidden copies", "the link", "float32", begins=True),
    "home-graph": Line("home", ON_ONE_GPU | AS_GRAPH, "gpu", "two streams, one graph", "launches", "float32, graph"),
    "home-tma-tf32": Line("home", TMA_TF32, "gpu", "tensor cores, small last batches", "multiply-adds", "TF32, TMA"),
    "home-tma": Line("home", TMA_FLOAT16, "gpu", "operands half as large", "memory", "half, TMA"),
    "pytorch": Line("pytorch", ON_HOST | {"compiled": OFF}, "host", begins=True),
    "pytorch-compiled": Line("pytorch", ON_HOST | {"compiled": "on"}, "host", label="compiled"),
    "peer-home": Line("pytorch_home", PEER | {"math": "default"}, "gpu", PEER_IDEA, label="float32", begins=True),
    "peer-home-tf32": Line("pytorch_home", PEER | TF32, "gpu", PEER_IDEA, label="TF32"),
}
TABLE, FIGURE = [[key for key, line in LINES.items() if line.idea]], list(LINES)
# Further lines, for claims, texts and tables only. `ranks-then` has the kernels and the memory of the earlier study.
DEFAULTS = {"math": UNSTATED, "memory": UNSTATED, "copies": UNSTATED}
GRAPHS = DEFAULTS | {"graph": "on"}
LINES |= {
    "split": Line("cuda", {"first": "cuda_im2col"}, "splits"),
    "staged": Line("home", {"first": "cuda_im2col"}, "staged"),
    "copied": Line("home", {"streams": 1, "batches": UNSTATED} | OUR_BASE, "gpu"),
    "ranks-then": Line("mpi_home", {"ranks": MAX, "first": "cuda_im2col", "memory": "staged"}, "ranks"),
    "ranks": Line("mpi_home", {"ranks": MAX, "first": UNSTATED}, "ranks"),
    "host-threads": Line("home", DEFAULTS | {"graph": UNSTATED, "gpus": MAX}, "most GPUs"),
    "graph": Line("home", GRAPHS | {"batches": UNSTATED, "gpus": MAX}, "most GPUs"),
    "tapered": Line("home", GRAPHS | {"batches": "tapered", "gpus": MAX}, "most GPUs"),
    "pageable": Line("home", DEFAULTS | {"memory": "pageable", "gpus": MAX}, "most GPUs"),
    "half": Line("home", DEFAULTS | {"math": "float16", "gpus": MAX}, "most GPUs"),
    "uint8": Line("home", TMA | ON_ONE_STREAM | TAPERED | {"batch": 1056}, "uint8"),
}


def gpu_run(line, source, count, images=IMAGES):
    """The selection of `images` pictures drawn on `count` GPUs; `line` is a key of LINES, such as `ranks`."""
    return select(line, source, **{"ranks" if line.startswith("ranks") else "gpus": count}, images=images)


def cold_start(selection):
    """A selection's set-up and first call on ranks that begin together, in each process, if they were recorded."""
    return selection.with_column("cold_start_of_ranks")


def per_unit(rows):
    """Seconds of a picture."""
    return rows["seconds"] / rows["images"]
