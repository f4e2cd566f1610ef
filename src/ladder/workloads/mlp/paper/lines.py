"""Where the chapter's measurements come from, and the lines of its ladders, at tunings that are fixed beforehand.

The tilings of the GPU's products are the best ones on `nvidia-h200-x4`, not the chapter's machine. `cuda_shared`
has the blocks of the earlier study.
"""

from ladder.report.telling.lines import MAX, Line, Needs, Source, Widest
from ladder.workloads import gemm, mlp

DTYPE = "float64"
RUNGS = gemm.RUNGS | mlp.RUNGS
UNIT = "Time"  # of a product, or of a batch of the training
BEST = 12  # threads, on which the earlier study was best
PRODUCTS = ("openmp", "interchanged", "tiled", "blas")
GPU_PRODUCTS = ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma", "cublas")
KINDS = ("forward", "gradient", "delta")  # the first words of the phases of products
COPIES = ("to device", "to host")
OUTSIDE = {"phase": COPIES}  # of an epoch
# Sizes of the claims: the earlier study's network, the forward product of its larger layer, and one that fills a GPU.
NETWORK = {"layers": "784-300-10", "dtype": DTYPE}
BATCHES = NETWORK | {"batch": 100}
PRODUCT = {"form": "nn", "n": 300, "k": 784, "dtype": DTYPE}
LARGE = {"m": 4096, "n": 4096, "k": 4096}
FORMS = ("nn", "tn", "nt")  # of the large product, that of most claims first
SOURCES = {
    "products": Source("host", "gemm_threads", m=1000, device="host", **PRODUCT),
    "loops": Source("host", "gemm_square", form="nn", m=512, n=512, k=512, dtype=DTYPE),
    **{form: Source("gpu", "gemm_gpu_float64", form=form, dtype=DTYPE, **LARGE) for form in FORMS},
    "single": Source("gpu", "gemm_gpu_float32", form="nn", dtype="float32", **LARGE),
    "rows": Source("gpu", "gemm_gpu_training_float64", **PRODUCT),
    "training": Source("host", "mlp_threads", images=2000, device="host", **BATCHES),
    "widest": Source("widest", "mlp_threads", images=2000, device="host", **BATCHES),
    "few images": Source("gpu", "mlp_threads", images=2000, device="cuda", **BATCHES),
    "gpu": Source("gpu", "mlp_gpu", images=60000, device="cuda", **BATCHES),
    "peers": Source("host", "mlp_peers", images=6000, **BATCHES),
    "peers, larger": Source("host", "mlp_peers", images=6000, batch=1000, **NETWORK),
    "learning": Source("learner", "mlp_accuracy"),
}
MACHINES = {
    "host": Needs(("training",)),
    "gpu": Needs(("gpu",)),
    "widest": Widest("widest", "threads"),
    "learner": Needs(("learning",), separate=True),
}
RELIEVES = {
    "interchanged": "instructions",
    "tiled": "caches, instructions",
    "blas": "caches, instructions",
    "cuda_shared": "caches",
    "cuda_columns": "loads",
    "cuda_tiled": "loads",
    "cuda_mma": "instructions",
    "cublas": "instructions",
    "host": "cores",
    "cuda": "cores, launches",
}
TILES = {
    "cuda_naive": {"block": 16},
    "cuda_shared": {"block": 16},
    "cuda_columns": {"bm": 32, "bn": 128, "bk": 16},
    "cuda_tiled": {"bm": 64, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "splitk": 1},
    "cuda_mma": {"bm": 128, "bn": 64, "bk": 16, "wm": 64, "wn": 32, "stages": 4, "splitk": 1},
    "cublas": {"math": "default"},
}
WIDE = {"bm": 128, "bn": 128, "bk": 32, "wm": 64, "wn": 64, "stages": 3}  # of `cuda_mma` in TF32
ONE, EVERY, GRAPH = {"threads": 1}, {"threads": MAX}, {"graph": "on"}


def line(variant, tuning, source, *words, idea=""):
    """A line with the resource that its variant saves."""
    return Line(variant, tuning, source, idea, RELIEVES.get(variant, ""), words)


def on_host(name, tuning, source="training", idea=""):
    """A line of the training by a product of the host."""
    return line("host", {"product": name} | tuning, source, name, idea=idea)


LINES = {
    **{name: line(name, ONE, "products") for name in PRODUCTS},
    "blas, all threads": line("blas", EVERY, "products"),
    "c_openmp": line("c_openmp", ONE, "products"),
    **{name: line(name, tuning, "nn") for name, tuning in TILES.items()},
    # The tensor cores take float32's operands rounded to TF32.
    "tf32/cuda_mma": line("cuda_mma", WIDE, "single", "TF32"),
    "tf32/cublas": line("cublas", {"math": "tf32"}, "single", "TF32"),
    **{f"training/{name}": on_host(name, ONE) for name in PRODUCTS},
    "training/blas/best": on_host("blas", {"threads": BEST}, idea="the same"),
    "training/blas/all": on_host("blas", EVERY, idea="the same"),
    **{f"widest/{name}": on_host(name, EVERY, "widest") for name in ("openmp", "blas")},
    **{f"training/{name}": line("cuda", {"product": name} | GRAPH, "gpu", name, "graph") for name in GPU_PRODUCTS},
    "peers/tiled": on_host("tiled", EVERY, "peers"),  # on the threads that peers were given
    "peers/numpy_loop": line("numpy_loop", EVERY, "peers"),
    "peers/pytorch": line("pytorch", EVERY, "peers"),
    # Not PyTorch's fastest form: the step isn't compiled.
    "pytorch_cuda": line("pytorch_cuda", GRAPH, "gpu", "graph"),
}
# The table of the ladder: products on each device, and trainings in their best forms with their peers.
BEST_FORMS = ("peers/tiled", "training/blas/best", "training/blas/all", "training/cuda_mma")
TABLE = (PRODUCTS, tuple(TILES), (*BEST_FORMS, "peers/numpy_loop", "peers/pytorch", "pytorch_cuda"))
# The panels of the waterfall, by the sources of their lines.
PANELS = {
    "A product on the host": ("products",),
    "A product on the GPU": ("nn",),
    "A batch of the training": ("training", "gpu", "peers"),
}
FIGURE = [key for key in LINES if key != "peers/tiled"]


def batches(rows):
    """The number of batches of an epoch."""
    return -(-rows["images"] // rows["batch"])


def per_unit(rows):
    """Seconds of a product, or of a batch of a training."""
    return rows["seconds"] / batches(rows) if "batch" in rows else rows["seconds"]
