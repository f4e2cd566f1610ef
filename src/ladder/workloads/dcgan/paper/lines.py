"""Sources and lines of the chapter; `home` copies pictures to the host, `tma` loads inputs by the TMA."""

from ladder.report.telling.lines import MAX, UNSTATED, Line, Needs, Source, Widest, select
from ladder.store import collect, study
from ladder.workloads.dcgan import layout

UNIT = "Picture"
# Sizes of the claims: the network of the earlier study, and on a GPU its largest number of images.
SIZE = {"channels": layout.CHANNELS, "weights": "random", "pictures": "float32", "dtype": "float32"}
IMAGES = 5248
HOST_IMAGES = 64
FULL_SIZE = SIZE | {"images": IMAGES}
HOME, SPLITS = "dcgan_home", "dcgan_splits"
GPUS, RANKS, WEAK = "dcgan_cards", "dcgan_ranks", "dcgan_weak"
HALF, PAGEABLE, GRAPH = "dcgan_cards_half", "dcgan_cards_pageable", "dcgan_cards_graph"
# Phases that aren't part of every call; the parts of a call in the waterfall.
OUTSIDE = {"phase": ("to device", "to host", "load", "pack", "fold", "norms")}
PHASES = ("projection", "layer 1", "layer 2", "layer 3", "layer 4", "epilogues")


def network_layers(rows):
    """The rows of the full network's layers, at their largest number of images."""
    layers = collect.concatenate([study.where(rows, h=h, c=c, k=k) for h, c, k in layout.layers(layout.CHANNELS)])
    return layers[layers["images"] == layers["images"].max()] if len(layers) else layers


SOURCES = {
    "host": Source("host", "dcgan_host", images=HOST_IMAGES, **SIZE),
    "gpu": Source("gpu", "dcgan_gpu", HOME, **FULL_SIZE),
    "splits": Source("gpu", SPLITS, **SIZE),
    "screen": Source("screen", "dcgan_home_uint8", **FULL_SIZE | {"pictures": "uint8"}),
    "floats": Source("screen", HOME, **FULL_SIZE),
    "layers": Source("layers", "tconv_gpu_large", "tconv_gpu_pictures", dtype="float32", prepare=network_layers),
    "products": Source("products", "gemm_gpu_float32", form="nn", m=4096, n=4096, k=4096, dtype="float32"),
    "threads": Source("most", GPUS, **SIZE),
    **{role: Source(role, GPUS, RANKS, WEAK, HALF, PAGEABLE, GRAPH, **SIZE) for role in ("two", "four", "most")},
}
MACHINES = {
    "host": Needs(("host",)),
    "gpu": Needs(("gpu",), frozenset({"cuda"})),
    "two": Needs(("threads",), min={"gpus": 2}, separate=True),
    "four": Needs(("threads",), min={"gpus": 4}, separate=True),
    "most": Widest("threads", "gpus"),
    "screen": Needs(("screen",), separate=True),
    "layers": Needs(("layers",), separate=True),
    "products": Needs(("products",), frozenset({"cuda_columns"}), separate=True),
}
TILES = {"first": "cuda_implicit", "last": "cuda_window", "split": 3, "batch": 1280}
DEFAULT = {"graph": UNSTATED, "epilogue": UNSTATED}
SPLIT = {"first": "cuda_implicit", "last": "cuda_parity"}
TENSOR_CORES = {"first": "cuda_implicit_wgmma", "last": "cuda_window_mma"}
TMA = TENSOR_CORES | {"first": "cuda_implicit_tma"}
TF32, FLOAT16 = {"math": "tf32"}, {"math": "float16"}
IN_LARGE, IN_SMALL = {"batch": 1280}, {"batch": 128}
HALF_LARGE = FLOAT16 | IN_LARGE
HALF_TMA = HALF_LARGE | TMA
STREAMS = {"streams": 2, "graph": "on"}
FIRST_HOME = STREAMS | {"math": UNSTATED, "batch": 512}
TAPERED = TF32 | {"batch": 528, "batches": "tapered"}
ON_ONE_STREAM = STREAMS | TMA | {"streams": 1}
FUSED = {"batch": 16, "epilogue": "fused"}
ONE_THREAD, PARITY, TILED = {"threads": 1}, {"first": "parity", "last": "parity"}, {"first": "tuned", "last": "tuned"}
MIXED = {"first": "tuned", "last": "blas", "split": 3}
TUNED = {"turned": "on", "compiled": "on"}


def on_host(note, idea, relieves, tuning):
    """A line of the host."""
    return Line("host", {"threads": MAX} | tuning, "host", idea, relieves, note=note)


def on_gpu(note, idea, relieves, tuning):
    """A line of one GPU, without copies to the host."""
    return Line("cuda", tuning, "gpu", idea, relieves, note=note, begins=note == "naive")


# Precisions of the peers, by the suffix of a line's key: the tuning `math` and the line's note.
PRECISIONS = {"": ("default", "float32"), "-tf32": ("tf32", "TF32"), "-float16": ("float16", "half")}
LINES = {
    "loops": on_host("loops", "a branch for every zero", "", ONE_THREAD | {"first": "loops", "last": "loops"}),
    "parity": on_host("parity", "loops at the right parity, vectors of channels", "a branch", ONE_THREAD | PARITY),
    "parity-threads": on_host("parity", "", "", PARITY),
    "blas": on_host("BLAS", "products of all rows of the filter, added up", "instructions", PARITY | {"first": "blas"}),
    "tuned": on_host("tuned", "products of exact size in registers", "caches", FUSED | TILED),
    "mixed": on_host("tuned, BLAS", "BLAS for the last layer's few channels", "idle registers", FUSED | MIXED),
    "naive": on_gpu("naive", "a thread per element of a layer", "cores", {"first": "cuda_naive"}),
    "gpu-parity": on_gpu("parity", "the same at the right parity", "a branch", {"first": "cuda_parity"}),
    "two": on_gpu("2 + 2", "two layers as implicit products", "products, by tiles", SPLIT | {"split": 2}),
    "three": on_gpu("3 + 1", "three layers as implicit products", "loads", SPLIT | {"split": 3}),
    "four": on_gpu("4 + 0", "all layers as implicit products", "loads", {"first": "cuda_implicit", "split": 4}),
    "window": on_gpu("3 + 1, window", "a window of pixels per thread, last layer", "idle columns", TILES | DEFAULT),
    "tf32": on_gpu("TF32", "tensor cores", "multiply-adds", TENSOR_CORES | TF32 | IN_LARGE),
    "float16": on_gpu("half", "operands half as large", "memory", TENSOR_CORES | HALF_LARGE),
    "tma": on_gpu("half, TMA", "pixels loaded once, layers start early", "copies", HALF_TMA),
    "home": Line("home", FIRST_HOME, "gpu", "hidden copies, two streams, one graph", "the link", (), "float32", True),
    "home-tf32": Line("home", STREAMS | TENSOR_CORES | TF32 | {"batch": 256}, "gpu", note="TF32"),
    "home-tma-tf32": Line("home", ON_ONE_STREAM | TAPERED, "gpu", note="TF32, TMA"),
    "home-float16": Line("home", STREAMS | TENSOR_CORES | FLOAT16 | IN_SMALL, "gpu", note="half"),
    "home-tma": Line("home", ON_ONE_STREAM | FLOAT16 | IN_SMALL, "gpu", note="half, TMA"),
    "pytorch": Line("pytorch", {"threads": MAX, "batch": 16}, "host", begins=True),
    **{
        key + suffix: Line(variant, TUNED | {"math": math}, "gpu", note=note, begins=not suffix)
        for key, variant in {"peer": "pytorch_cuda", "peer-home": "pytorch_home"}.items()
        for suffix, (math, note) in PRECISIONS.items()
    },
}
TABLE, FIGURE = [[key for key, line in LINES.items() if line.idea]], list(LINES)
# Further lines, for claims and tables only.
ONE_STREAM = {"streams": 1, "batches": UNSTATED, "memory": UNSTATED, "copies": UNSTATED}
SINGLE = {"math": UNSTATED, "memory": UNSTATED}
GRAPHS = SINGLE | {"graph": "on"}
LINES |= {
    "split": Line("cuda", {"first": "cuda_im2col", "batch": 100}, "splits"),
    "screen": Line("home", ON_ONE_STREAM | TAPERED | {"batch": 1056}, "screen"),
    "copied-float32": Line("home", ONE_STREAM | {"math": UNSTATED, "batch": 1280}, "gpu"),
    "copied-float16": Line("home", ONE_STREAM | {"math": "float16", "batch": 512, "graph": "off"}, "gpu"),
    "threads": Line("home", SINGLE | {"graph": UNSTATED, "gpus": MAX}, "most"),
    "graph": Line("home", GRAPHS | {"batches": UNSTATED, "gpus": MAX}, "most"),
    "tapered": Line("home", GRAPHS | {"batches": "tapered", "gpus": MAX}, "most"),
    "ranks": Line("mpi_home", {"ranks": MAX}, "most"),
    "pageable": Line("home", SINGLE | {"memory": "pageable", "gpus": MAX}, "most"),
    "half": Line("home", SINGLE | {"math": "float16", "gpus": MAX}, "most"),
}


def on_gpus(way, source, count, images=IMAGES):
    """The selection of `images` pictures drawn on `count` GPUs; `way` is the key of a line, such as `ranks`."""
    return select(way, source, **{"ranks" if way == "ranks" else "gpus": count}, images=images)


def starts(rows):
    """The seconds of each process's start and first call, if they were recorded."""
    return study.of_processes(rows, "cold_start")


def per_unit(rows):
    """Seconds of a picture."""
    return rows["seconds"] / rows["images"]
