"""Where the chapter's measurements come from, and the lines of its ladders, at tunings that are fixed beforehand.

The tilings of the GPU's products are the best ones on `nvidia-h200-x4`, not the chapter's machine. `cuda_shared`
has the blocks of the earlier study.
"""

from ladder.report.telling.lines import MAX, OFF, Line, Needs, Source
from ladder.workloads import gemm, mlp

DTYPE = "float64"
RUNGS = gemm.RUNGS | mlp.RUNGS
UNIT = "Time"  # of a product, or of a batch of the training
KNEE, PEAK = 4, 12  # threads, from which on time evens out in the earlier study, and on which it was shortest
THREADS = (1, 2, KNEE, 6, PEAK, 24)  # of the earlier study
PRODUCTS = ("openmp", "interchanged", "tiled", "blas")
GPU_PRODUCTS = ("cuda_naive", "cuda_shared", "cuda_mma", "cublas")
FORMS = {"forward": "nn", "gradient": "tn", "delta": "nt"}  # of products, by the first word of their phases
OUTSIDE = {"phase": ("to device", "to host")}  # of an epoch
# The network of the claims, in which all forms of the product matter, and a smaller one.
DEEP = {"layers": "784-1000-1000-1000-10", "activation": "relu", "batch": 100, "dtype": DTYPE}
SMALL = {"layers": "784-300-10", "batch": 100, "dtype": DTYPE}
SOURCES = {
    "products": Source("core", "gemm_threads", m=1000, device="host", form="nn", n=300, k=784, dtype=DTYPE),
    "large": Source("gpu", "gemm_gpu_float64", form="nn", m=4096, n=4096, k=4096, dtype=DTYPE),
    "deep": Source("host", "mlp_deep", images=100, device="host", **DEEP),
    "deep gpu": Source("gpu", "mlp_deep", images=100, **DEEP),
    "larger": Source("host", "mlp_deep_batches", images=1000, device="host", **DEEP | {"batch": 1000}),
    "larger gpu": Source("gpu", "mlp_deep_batches", images=1000, **DEEP | {"batch": 1000}),
    "small": Source("core", "mlp_threads", images=1000, **SMALL),
    "small gpu": Source("gpu", "mlp_gpu", images=60000, **SMALL),
    **{f"epochs of {n}": Source("gpu", "mlp_persistent", **SMALL | {"batch": n}) for n in (100, 1000)},
    "peers": Source("core", "mlp_peers", images=6000, **SMALL),
    "learning": Source("learner", "mlp_accuracy"),
}
# `core` is measured on few threads, so that a machine with fewer cores suffices.
MACHINES = {
    "host": Needs(("deep",), min={"threads": PEAK}),
    "gpu": Needs(("deep gpu",), frozenset({"cuda"})),
    "core": Needs(("small",)),
    "learner": Needs(("learning",), separate=True),
}
RELIEVES = dict.fromkeys(("interchanged", "cuda_mma", "cublas"), "instructions") | {"cuda_shared": "caches"}
RELIEVES |= dict.fromkeys(("cuda_columns", "cuda_tiled"), "loads") | {"host": "cores", "cuda": "cores, launches"}
FEW_LAUNCHES = ("cuda_fused", "cuda_persistent")  # of kernels: forms of the training
RELIEVES |= dict.fromkeys(("tiled", "blas"), "caches, instructions") | dict.fromkeys(FEW_LAUNCHES, "launches, traffic")
TILES = {
    "cuda_naive": {"block": 16},
    "cuda_shared": {"block": 16},
    "cuda_columns": {"bm": 32, "bn": 128, "bk": 16},
    "cuda_tiled": {"bm": 64, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "splitk": 1},
    "cuda_mma": {"bm": 128, "bn": 64, "bk": 16, "wm": 64, "wn": 32, "stages": 4, "splitk": 1},
    "cublas": {"math": "default"},
}
ONE_THREAD, ALL_THREADS, GRAPH = {"threads": 1}, {"threads": MAX}, {"graph": "on"}
EAGER, COMPILED = {"compiled": OFF}, {"compiled": "on"}  # of PyTorch
LABEL = "`compiled`, `graph`"  # of PyTorch's fastest form


def line(variant, tuning, source, label="", idea=""):
    """A line with the resource that its variant saves."""
    return Line(variant, tuning, source, idea, RELIEVES.get(variant, ""), label)


def on_host(name, tuning, source, idea=""):
    """A line of the training by a product of the host."""
    return line("host", {"product": name} | tuning, source, f"`{name}`", idea)


def on_gpu(name, source, variant="cuda", **tuning):
    """A line of the training by a product of the GPU."""
    return line(variant, {"product": name} | tuning, source, f"`{name}`" + ", `graph`" * (tuning == GRAPH))


LINES = {
    **{name: line(name, ONE_THREAD, "products") for name in PRODUCTS},
    "c_openmp": line("c_openmp", ONE_THREAD, "products"),
    **{name: line(name, tuning, "large") for name, tuning in TILES.items()},
    "deep/openmp": on_host("openmp", ONE_THREAD, "deep"),
    f"deep/openmp/{PEAK}": on_host("openmp", {"threads": PEAK}, "deep", "the same"),
    "deep/blas": on_host("blas", ONE_THREAD, "deep"),
    f"deep/blas/{PEAK}": on_host("blas", {"threads": PEAK}, "deep", "a batch on the CPU, products by OpenBLAS"),
    **{f"deep/{name}": on_gpu(name, "deep gpu", **GRAPH) for name in GPU_PRODUCTS},
    "deep/pytorch_cuda": line("pytorch_cuda", GRAPH | EAGER, "deep gpu", "`graph`"),
    "deep/pytorch_cuda/compiled": line("pytorch_cuda", GRAPH | COMPILED, "deep gpu", LABEL),
    **{f"copies/{key}": on_gpu(key, "deep gpu", "cuda_copies", memory="pageable") for key in ("cuda_shared", "cublas")},
    **{f"small/{name}": on_host(name, ONE_THREAD, "small") for name in ("openmp", "tiled", "blas")},
    **{f"small/{name}": on_gpu(name, "small gpu", **GRAPH) for name in ("cuda_shared", "cublas")},
    **{f"{n}/pytorch_cuda": line("pytorch_cuda", GRAPH | COMPILED, f"epochs of {n}", LABEL) for n in (100, 1000)},
    **{f"{n}/{name}": line(name, {}, f"epochs of {n}") for n in (100, 1000) for name in FEW_LAUNCHES},
    "peers/tiled": on_host("tiled", ALL_THREADS, "peers"),  # on the threads that peers were given
    "peers/numpy_loop": line("numpy_loop", ALL_THREADS, "peers"),
    "peers/pytorch": line("pytorch", ALL_THREADS | EAGER, "peers"),
    "peers/pytorch/compiled": line("pytorch", ALL_THREADS | COMPILED, "peers", "`compiled`"),
}
# The table of the ladder: products on each device, and trainings of both networks in their best forms.
DEEP_LINES = [key for key, entry in LINES.items() if key.startswith("deep/")]
BEST_LINES = (f"deep/blas/{PEAK}", "deep/cuda_mma", "deep/pytorch_cuda", "deep/pytorch_cuda/compiled")
SMALL_LINES = ("small/cublas", *(f"100/{name}" for name in (*FEW_LAUNCHES, "pytorch_cuda")))
TABLE = (PRODUCTS, tuple(TILES), BEST_LINES, SMALL_LINES)
FIGURE = [*PRODUCTS, "c_openmp", *TILES, *DEEP_LINES]
PANELS = {
    "A product on the host": ("products",),
    "A product on the GPU": ("large",),
    "A batch of the deep network": ("deep", "deep gpu"),
}


def batches(rows):
    """The number of batches of an epoch."""
    return -(-rows["images"] // rows["batch"])


def part_of(phases):
    """The form of each phase that is a product, else the phase itself."""
    return phases.replace({rf"^{word} \d+$": form for word, form in FORMS.items()}, regex=True)


def per_unit(rows):
    """Seconds of a product, or of a batch of a training."""
    return rows["seconds"] / batches(rows) if "batch" in rows else rows["seconds"]
