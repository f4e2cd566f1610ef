"""The times of a product on the host, a large one on the GPU, and a batch of the training, rung by rung."""

from ladder.report.telling.ladder import waterfall_of

TITLE = "What each rung of products and training gains"
CAPTION = """\
A product of the small network on the host, a large product on the GPU, and a batch of the deep network with different
products, rung by rung, peers below. On the GPU, a batch is one CUDA graph. Dots are medians of processes, ticks the
model's times; the wide line is the time at the device's best rate of products. On the right: the median of the dots,
and the speed-up over the rung above with its 99 % interval.
"""
EXPERIMENTS = ("gemm_threads", "mlp_threads", "gemm_gpu_float64", "mlp_deep")
USES_CEILINGS = True

PROBLEMS = {"gemm": "{form}: {m} × {n} × {k}, {dtype}", "mlp": "{batch:,} images, {layers}, {dtype}"}
draw = waterfall_of(PROBLEMS, "time", "products at the best rate")
