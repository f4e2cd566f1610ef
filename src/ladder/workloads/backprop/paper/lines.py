"""Where the chapter's measurements come from, and the lines of its ladder, at tunings that are fixed beforehand."""

from dataclasses import replace

from ladder.report.study import values, where
from ladder.report.telling.lines import COMMON, MAX, Line, Needs, Widest, select, source
from ladder.workloads.backprop import RUNGS

UNIT = "Epoch"
# Of the claims: the network of the earlier study with all images of MNIST.
SIZE = {"layers": "784-56-28-10", "images": 60000, "dtype": "float32"}
STEPS = ("loop_order", "temporaries", "fusion", "associativity")
LOOPS = ("before", *STEPS)
# The macro blocks by the word that is in the name of a phase.
BLOCKS = {
    "gather": "gather",
    "products": "products",
    "activations": "activations",
    "error": "error",
    "deltas": "deltas",
    "patterns": "several at once",
    "change": "weight change",
    "update": "update",
}
OTHER = "other"
OUTSIDE = ("to device", "to host", "flatten", "constants")  # phases that are no part of an epoch


def with_most_images(rows):
    """The rows of the size with most images."""
    return where(rows, images=max(values(rows, "images")))


SOURCES = {
    "before": source("host", "backprop_before", **SIZE),
    "loops": source("host", "backprop_before", "backprop_ladder", device="host", **SIZE),
    "flags": source("host", "backprop_flags", "backprop_flags_before", prepare=with_most_images),
    "threads": source("host", "backprop_openmp"),
    "reading": source("host", "backprop_reading", images=SIZE["images"], dtype=SIZE["dtype"]),
    "learning": source("host", "backprop_learning", device="host"),
    "cores": source("widest", "backprop_ladder", device="host", **SIZE),
    "threads on cores": source("widest", "backprop_openmp"),
    "tuned": source("widest", "backprop_ladder", variant="tuned", **SIZE),
    "card": source("card", "backprop_gpu", device="cuda", **SIZE),
    "kernels": source("card", "backprop_kernels"),
    "learning on a card": source("card", "backprop_learning", device="cuda"),
}
MACHINES = {"host": Needs(("before", "loops")), "card": Needs(("card",)), "widest": Widest("tuned", "threads")}
# What the tunings of the loops on threads and of the earlier study's kernels are where nothing is changed.
SHARED = {"schedule": "static", "error": "reduction", "update": "accumulators", "simd": 1}
MEMORIES = {"operands": "shared", "scalars": "constant", "tables": "texture", "error": "block", "block": 256}
THREADS, O2, ALL, OFFSETS = {"threads": MAX}, {"flags": "O2"}, {"flags": "all"}, {"index": "offsets"}
CUBLAS, DEFAULT, TF32 = {"product": "cublas", "graph": "on"}, {"math": "default"}, {"math": "tf32"}
COMPILED = {"graph": "on", "compiled": "on"}


def rung(variant, tuning, place, relieves="", idea=None, word=None):
    """A line with the idea of its variant, or another one that a word tells."""
    is_peer, words = RUNGS[variant].startswith("peer: "), (word,) if word else ()
    return Line(variant, tuning, place, idea or RUNGS[variant].removeprefix("peer: "), relieves, words, is_peer=is_peer)


LINES = {
    "before": rung("before", O2, "loops"),
    "loop_order": rung("loop_order", O2, "loops", "caches"),
    "temporaries": rung("temporaries", O2, "loops", "loads and stores"),
    "fusion": rung("fusion", O2, "loops", "caches"),
    "associativity": rung("associativity", O2, "loops", "instructions"),
    "all flags": rung("associativity", ALL, "loops", "instructions", "the same with all flags", "flags=all"),
    "openmp": rung("openmp", SHARED | THREADS, "loops", "cores"),
    "blas": rung("blas", THREADS, "loops", "instructions"),
    "tuned": rung("tuned", THREADS, "loops", "instructions, caches"),
    "cuda_flat": rung("cuda_flat", OFFSETS, "card", "cores"),
    "cuda_kernels": rung("cuda_kernels", MEMORIES, "card", "index arithmetic, loads"),
    "cuda": rung("cuda", CUBLAS, "card", "instructions, launches"),
    "cuda_fused": rung("cuda_fused", DEFAULT, "card", "memory, launches"),
    "tf32": rung("cuda_fused", TF32, "card", "memory, launches", "the same in TF32 on tensor cores", "tf32"),
    "numpy_loop": rung("numpy_loop", THREADS, "loops"),
    "pytorch": rung("pytorch", {"gradients": "autograd"} | THREADS, "loops"),
    "by hand": rung(
        "pytorch",
        {"gradients": "by_hand"} | THREADS,
        "loops",
        idea="the same, gradients by hand: its strongest form",
        word="by_hand",
    ),
    "pytorch_cuda": rung("pytorch_cuda", COMPILED | DEFAULT, "card"),
    "pytorch_cuda/tf32": rung(
        "pytorch_cuda", COMPILED | TF32, "card", idea="the same in TF32 on tensor cores", word="tf32"
    ),
}
# Reading all images, from a file that the system keeps in memory.
BESIDE = {"serial": Line("serial", {}, "reading"), "tasks": Line("openmp_tasks", THREADS, "reading")}
# One tuning changed at a time: the bases, and the other values of each tuning.
BASES = {
    "openmp": select("openmp", "threads", threads=COMMON),
    "cuda_kernels": select("cuda_kernels", "kernels"),
    "cuda_flat": select("cuda_flat", "kernels"),
}
CHANGES = {
    "openmp": {"schedule": ("dynamic", "guided"), "error": ("atomic",), "update": ("owner", "atomic"), "simd": (0,)},
    "cuda_kernels": {
        "operands": ("global",),
        "scalars": ("argument",),
        "tables": ("global", "readonly"),
        "error": ("atomic", "emulated"),
        "block": (64, 512),
    },
    "cuda_flat": {"index": ("walk",)},
}


def changed(line, source=None, **tuning):
    """The Selection of a base with some tunings changed; of openmp on the machine of another source, too."""
    base = BASES[line]
    return replace(base, source=source or base.source, tuning=base.tuning | tuning)


def is_before(phases):
    """Which phases are no part of an epoch."""
    return phases["phase"].isin(OUTSIDE)


def part_of(phases):
    """The macro block of each phase."""
    return phases.map(block_of)


def block_of(phase):
    """The macro block of a phase."""
    return next((block for word, block in BLOCKS.items() if word in phase), OTHER)
