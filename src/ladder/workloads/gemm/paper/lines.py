"""The sources of the supplement's measurements of products. Its lines are the precisions of one product on a GPU."""

from ladder.report.telling.lines import Line, Needs, Source
from ladder.store.study import largest_size

UNIT = None  # this chapter has no ladder: that of products is in the chapter on training
DTYPES = ("float64", "float32")
SQUARE, TRAINING = ({dtype: f"{shape}, {dtype}" for dtype in DTYPES} for shape in ("square", "training"))
ONE_THREAD_SOURCES = ("square", "large")
SOURCES = {
    "square": Source("host", "gemm_square", threads=1),
    "large": Source("host", "gemm_large", threads=1),
    "threads": Source("host", "gemm_threads", dtype="float64"),
    "host": Source("host", "gemm_square", "gemm_threads", device="host"),
    **{name: Source("gpu", f"gemm_gpu_{dtype}") for dtype, name in SQUARE.items()},
    **{name: Source("gpu", f"gemm_gpu_training_{dtype}") for dtype, name in TRAINING.items()},
    "mixed": Source("mixed", "gemm_gpu_mixed", prepare=largest_size),
}
MACHINES = {"gpu": Needs(tuple(SQUARE.values())), "host": Needs(("host",)), "mixed": Needs(("mixed",), separate=True)}
PRECISIONS = {"cublas": ("float32", "tf32"), "cublas_mixed": ("float16", "bfloat16", "tf32x3")}
LINES = {name: Line(variant, {"precision": name}, "mixed") for variant, names in PRECISIONS.items() for name in names}
