"""The lines of the ladder's figure and table: variants at tunings that are fixed beforehand, so that none is picked."""

from functools import partial

from ladder.report import rungs
from ladder.report.rungs import MOST
from ladder.workloads.dcgan.paper import query

TILES = {"first": "cuda_implicit", "last": "cuda_window", "split": 3, "batch": 1280}
ONLY = {"graph": None, "epilogue": None}  # not stated: the defaults
WARPGROUPS = {"first": "cuda_implicit_wgmma", "last": "cuda_window_mma"}
BROUGHT = WARPGROUPS | {"first": "cuda_implicit_tma"}
HOME = {"streams": 2, "graph": "on"}
TUNED = {"turned": "on", "compiled": "on"}
RELIEVES = {
    "loops": "",
    "parity": "a branch",
    "blas": "instructions",
    "tuned": "caches",
    "mixed": "idle registers",
    "naive": "cores",
    "card-parity": "a branch",
    "two": "products, by tiles",
    "three": "loads",
    "four": "loads",
    "window": "idle columns",
    "tf32": "multiply-adds",
    "float16": "memory",
    "brought": "copies",
    "home": "the link",
}


class Line(rungs.Line):
    """A line whose tuning may say None of what a case doesn't state."""

    def rows(self, frame):
        stated = {name: value for name, value in self.tuning.items() if value is not None}
        rows = rungs.Line(self.workload, self.variant, stated).rows(frame)
        for name, value in self.tuning.items():
            if value is None and name in rows.columns:
                rows = rows[rows[name].isna()]
        return rows


Line = partial(Line, "dcgan")
# {key: (line, its idea)}
LINES = {
    "loops": (
        Line("host", {"threads": 1, "first": "loops", "last": "loops"}, "loops"),
        "a branch for every zero",
    ),
    "parity": (
        Line("host", {"threads": 1, "first": "parity", "last": "parity"}, "parity"),
        "loops at the right parity, vectors of channels",
    ),
    "parity-threads": (
        Line("host", {"threads": MOST, "first": "parity", "last": "parity"}, "parity"),
        "the same on all threads",
    ),
    "blas": (
        Line("host", {"threads": MOST, "first": "blas", "last": "parity"}, "BLAS"),
        "products of all rows of the filter, added up",
    ),
    "tuned": (
        Line("host", {"threads": MOST, "first": "tuned", "last": "tuned", "batch": 16, "epilogue": "fused"}, "tuned"),
        "products of exact size in registers",
    ),
    "mixed": (
        Line(
            "host",
            {"threads": MOST, "first": "tuned", "last": "blas", "split": 3, "batch": 16, "epilogue": "fused"},
            "tuned, BLAS",
        ),
        "a BLAS for the few channels of the last layer",
    ),
    "naive": (Line("cuda", {"first": "cuda_naive"}, "naive"), "a thread per element of a layer"),
    "card-parity": (Line("cuda", {"first": "cuda_parity"}, "parity"), "the same at the right parity"),
    "two": (
        Line("cuda", {"first": "cuda_implicit", "last": "cuda_parity", "split": 2}, "2 + 2"),
        "two layers as implicit products",
    ),
    "three": (
        Line("cuda", {"first": "cuda_implicit", "last": "cuda_parity", "split": 3}, "3 + 1"),
        "three layers as implicit products",
    ),
    "four": (Line("cuda", {"first": "cuda_implicit", "split": 4}, "4 + 0"), "all layers as implicit products"),
    "window": (Line("cuda", TILES | ONLY, "3 + 1, window"), "the last by threads that keep a window"),
    "tf32": (Line("cuda", WARPGROUPS | {"math": "tf32", "batch": 1280}, "TF32"), "tensor cores"),
    "float16": (Line("cuda", WARPGROUPS | {"math": "float16", "batch": 1280}, "half"), "operands half as large"),
    "brought": (
        Line("cuda", BROUGHT | {"math": "float16", "batch": 1280}, "half, copy engine"),
        "pixels brought once, layers that begin early",
    ),
    "home": (Line("home", HOME | {"math": None, "batch": 512}, "float32"), "copies hidden, two streams, one graph"),
    "home-tf32": (Line("home", HOME | WARPGROUPS | {"math": "tf32", "batch": 256}, "TF32"), "smaller batches"),
    "home-brought-tf32": (
        Line(
            "home",
            HOME | BROUGHT | {"math": "tf32", "batch": 528, "batches": "tapered", "streams": 1},
            "TF32, copy engine",
        ),
        "one stream, smaller batches in the end",
    ),
    "home-float16": (Line("home", HOME | WARPGROUPS | {"math": "float16", "batch": 128}, "half"), "smaller batches"),
    "home-brought": (
        Line("home", HOME | BROUGHT | {"math": "float16", "batch": 128, "streams": 1}, "half, copy engine"),
        "one stream",
    ),
    "pytorch": (Line("pytorch", {"threads": MOST, "batch": 16}), "PyTorch on the CPU"),
    "peer": (Line("pytorch_cuda", TUNED | {"math": "default"}, "float32"), "cuDNN, tuned and compiled"),
    "peer-tf32": (Line("pytorch_cuda", TUNED | {"math": "tf32"}, "TF32"), "the same"),
    "peer-float16": (Line("pytorch_cuda", TUNED | {"math": "float16"}, "half"), "the same"),
    "peer-home": (Line("pytorch_home", TUNED | {"math": "default"}, "float32"), "the same, copies hidden"),
    "peer-home-tf32": (Line("pytorch_home", TUNED | {"math": "tf32"}, "TF32"), "the same"),
    "peer-home-float16": (Line("pytorch_home", TUNED | {"math": "float16"}, "half"), "the same"),
}
# Pictures for a screen on their way home, and those of float32 beside which they stand, by precision. In half precision
# floats need small batches, since the link is the limit; bytes don't.
TAPERED = LINES["home-brought-tf32"][0].tuning | {"batch": 1056}
BYTES = {math: Line("home", TAPERED | {"math": math}) for math in ("tf32", "float16")}
FLOATS = {"tf32": "home-brought-tf32", "float16": "home-brought"}
# A card's array on the host, by where it lies and whether copies are hidden; one stream, no graph.
APART = {"streams": 1, "batches": None}
MEMORIES = ("pinned", "staged", "pageable")
COPIES = ("hidden", "after")
# Epilogues in float32: batch norms in passes, in the weights, with activations in the layers' kernels, that as a graph.
EPILOGUES = {one: Line("cuda", TILES | {"graph": None, "epilogue": one}) for one in ("separate", "folded")}
EPILOGUES |= {"fused": Line("cuda", TILES | ONLY), "graph": Line("cuda", TILES | {"graph": "on", "epilogue": None})}


def line(key):
    """The line of a key."""
    return LINES[key][0]


def home(memory, copies, math):
    """The line of a way home, in float32 or in half precision."""
    own = {"math": None, "batch": 1280} if math == "float32" else {"math": math, "batch": 512, "graph": "off"}
    stated = {"memory": memory, "copies": copies}
    if math != "float32" and memory == "pinned":  # of which some cases don't state the defaults
        stated = {"memory": None, "copies": None if copies == "hidden" else copies}
    return Line("home", APART | own | stated)


def split(first):
    """The line of the earlier study's split: so many layers as products, the others by loops at the right parity."""
    return Line("cuda", {"first": "cuda_im2col", "split": first, "batch": 100})


def on_cards(count):
    """The line of threads with a card each."""
    return Line("home", {"gpus": count, "math": None, "memory": None, "graph": None})


def graph_on_cards(count):
    """The line of threads with a card each, whose part of a call is one graph."""
    return Line("home", {"gpus": count, "math": None, "memory": None, "graph": "on", "batches": None})


def tapered_on_cards(count):
    """The same with smaller batches in the end."""
    return Line("home", {"gpus": count, "math": None, "memory": None, "graph": "on", "batches": "tapered"})


def on_ranks(count):
    """The line of ranks with a card each."""
    return Line("mpi_home", {"ranks": count})


def half_on_cards(count):
    """The line of threads with a card each, in half precision."""
    return Line("home", {"gpus": count, "math": "float16", "memory": None})


def pageable_on_cards(count):
    """The line of threads with a card each, in whose caller's memory no page is locked."""
    return Line("home", {"gpus": count, "math": None, "memory": "pageable"})


def at_once(math):
    """The line of the fastest kernels with all pictures in one batch, whose copies home aren't part of the call."""
    if math == "float32":
        return batches(query.IMAGES)
    return Line("cuda", BROUGHT | {"math": math, "batch": query.IMAGES})


def kernels_of(key):
    """The line of the kernels of a way home, in its batches, without its copies."""
    return Line("cuda", {name: value for name, value in line(key).tuning.items() if name != "streams"})


def batches(batch):
    """The line of a batch on the card."""
    return Line("cuda", TILES | ONLY | {"batch": batch})
