"""Where the chapter's measurements come from, and the lines of its ladder, at tunings that are fixed beforehand."""

from typing import Any

from ladder.report.telling.lines import COMMON, MAX, OFF, Line, Needs, Source, select

UNIT = "Epoch"
# The size of the claims: the earlier study's network. On the host there are so many images that they exceed the caches,
# but one call of the untuned program takes a few seconds; on a GPU, all images of MNIST.
SIZE: dict[str, Any] = {"layers": "784-56-28-10", "images": 10000, "dtype": "float32"}
ON_GPU = SIZE | {"images": 60000}
TECHNIQUES = ("temporaries", "fusion", "associativity")  # by which the study went on after its loops' order
LOOPS = ("before", "loop_order", "contiguous", *TECHNIQUES)
# Macro blocks by the word that the names of their phases contain.
BLOCKS = {"gather": "gather", "forward": "forward pass", "products": "products", "activations": "activations"}
BLOCKS |= {"error": "error", "deltas": "deltas", "patterns": "several blocks", "change": "weight change"}
BLOCKS |= {"update": "update"}
OTHER, OUTSIDE = "other", {"phase": ("to device", "to host", "flatten", "constants")}  # OUTSIDE: of an epoch
SOURCES = {
    "steps": Source("host", "backprop_steps", **SIZE),
    "unoptimised": Source("host", "backprop_unoptimised", **SIZE),
    "flags": Source("host", "backprop_flags", "backprop_flags_before", images=MAX),
    "loops": Source("host", "backprop_ladder", device="host", **ON_GPU),
    "threads": Source("threads", "backprop_openmp", **SIZE),
    "reading": Source("host", "backprop_reading", images=ON_GPU["images"], dtype=SIZE["dtype"]),
    "learning": Source("host", "backprop_learning", device="host"),
    "cores": Source("widest", "backprop_ladder", device="host", **ON_GPU),
    "tuned on most threads": Source("widest", "backprop_ladder", variant="tuned", **ON_GPU),
    "gpu": Source("gpu", "backprop_gpu", device="cuda", **ON_GPU),
    "kernels": Source("gpu", "backprop_kernels", **ON_GPU),
    "learning on a GPU": Source("gpu", "backprop_learning", device="cuda"),
}
CORES = 4  # of the earlier study's CPU
MACHINES = {"host": Needs(("steps", "loops")), "gpu": Needs(("gpu",))}
MACHINES["widest"] = Needs(("tuned on most threads",), widest="threads")
MACHINES["threads"] = Needs(("threads",), min={"threads": CORES}, separate=True)
# The tunings of two bases of variations (see BASES): `openmp` and the earlier study's kernels.
SHARED_LOOPS = {"schedule": "static", "error": "reduction", "update": "accumulators", "simd": 1}
KERNELS = {"operands": "shared", "scalars": "constant", "tables": "texture", "error": "block", "block": 256}
THREADS, FLAT, CUBLAS = {"threads": MAX}, {"index": "offsets"}, {"product": "cublas", "graph": "on"}
O2, STUDY, NATIVE = ({"flags": flags} for flags in ("O2", "study", "native"))
DEFAULT, TF32, COMPILED = {"math": "default"}, {"math": "tf32"}, {"graph": "on", "compiled": "on"}
EAGER: dict[str, Any] = {"compiled": OFF, **THREADS}
AUTOGRAD, BY_HAND = (EAGER | {"gradients": gradients} for gradients in ("autograd", "by_hand"))
LINES = {
    "before": Line("before", O2, "steps", "the loop over patterns innermost in the weight change"),
    "loop_order": Line("loop_order", O2, "steps", "the loop over patterns outermost in that block", "caches"),
    "contiguous": Line("contiguous", O2, "steps", "all innermost loops along rows", "caches"),
    "temporaries": Line("temporaries", O2, "steps", "loop invariants in local variables", "loads and stores"),
    "fusion": Line("fusion", O2, "steps", "one loop over patterns up to the deltas", "caches"),
    "associativity": Line("associativity", O2, "steps", relieves="instructions"),
    "last": Line("associativity", STUDY, "steps", "the study's last program", "instructions", "`flags=study`"),
    "blas": Line("blas", THREADS, "steps", "products by SciPy's BLAS", "instructions"),
    "tuned": Line("tuned", THREADS, "steps", "blocks in the cache, tiles in registers, fusion", "instructions, caches"),
    "serial loops": Line("associativity", NATIVE, "threads", "`openmp`'s loops on one thread", label="`flags=native`"),
    "openmp": Line("openmp", SHARED_LOOPS | THREADS, "threads", "patterns shared among threads", "cores"),
    "cuda_flat": Line("cuda_flat", FLAT, "kernels", "a thread per unit and pattern, layers in one flat array", "cores"),
    "cuda_kernels": Line(
        "cuda_kernels", KERNELS, "kernels", "the earlier study's eleven kernels", "index arithmetic, loads"
    ),
    "cuda": Line("cuda", CUBLAS, "gpu", "cuBLAS, the rest fused, a CUDA graph", "instructions, launches"),
    "cuda_fused": Line("cuda_fused", DEFAULT, "gpu", "three kernels, units in shared memory", "memory, launches"),
    "tf32": Line("cuda_fused", TF32, "gpu", "the same in TF32 on tensor cores", "instructions", "`tf32`"),
    "numpy_loop": Line("numpy_loop", THREADS, "steps", "written by hand in NumPy"),
    "by hand": Line("pytorch", BY_HAND, "steps", "PyTorch, gradients by hand", label="`by_hand`"),
    "compiled": Line("pytorch", BY_HAND | {"compiled": "on"}, "steps", "the same, compiled", label="`compiled`"),
    "pytorch_cuda": Line("pytorch_cuda", COMPILED | DEFAULT, "gpu", "PyTorch, compiled and as a CUDA graph"),
}
# Three ladders: threads are on a machine with as many cores as the study had, and a GPU gets more images.
PANELS = {"one or two threads": ("steps",), "four threads": ("threads",), "GPU": ("kernels", "gpu")}
TABLE = [[key for key, line in LINES.items() if line.source in sources] for sources in PANELS.values()]
FIGURE = list(LINES)
# With autograd; reading all images from a file in the page cache.
LINES |= {
    "pytorch": Line("pytorch", AUTOGRAD, "loops"),
    "serial": Line("serial", {}, "reading"),
    "tasks": Line("openmp_tasks", THREADS, "reading"),
}
# Variations change one tuning of a base at a time: the bases, and the other values of each tuning.
BASES = {key: select(key, "kernels") for key in ("cuda_kernels", "cuda_flat")}
BASES |= {"openmp": select("openmp", "threads", threads=COMMON)}
CHANGES = {
    "openmp": {"schedule": ("dynamic", "guided"), "error": ("atomic",), "update": ("owner", "atomic"), "simd": (0,)},
    "cuda_kernels": {"operands": ("global",), "scalars": ("argument",), "tables": ("global", "readonly")}
    | {"error": ("atomic", "emulated"), "block": (64, 512)},
    "cuda_flat": {"index": ("walk",)},
}


def changed_base(line, **tuning):
    """The Selection of a base with some tunings changed."""
    return BASES[line].with_tuning(**tuning)


def part_of(phases):
    """The macro block of each phase."""
    return phases.map(lambda phase: next((block for word, block in BLOCKS.items() if word in phase), OTHER))
