"""The tables of the chapter: layers by method, copies to the host, and calls on several GPUs, then and now."""

from ladder.report import latex, ratios
from ladder.report.cells import NONE, flops, median
from ladder.report.figures import formats
from ladder.report.latex import code, num, seconds
from ladder.store.study import values, where
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.paper import claims, earlier
from ladder.workloads.dcgan.paper.lines import IMAGES, cold_start, gpu_run

IM2COL = "cuda_im2col, cublas"
HEIGHTS = [h for h, *_ in layout.layers(layout.CHANNELS)]  # rows of the images before each layer
METHODS = {  # {variant, and the product's variant or a key of MATHS: tunings}
    "cuda_parity": {},
    "cuda_im2col, cuda_columns": {"product": "cuda_columns"},
    IM2COL: {"product": "cublas"},
    "cuda_col2im, cublas": {"product": "cublas"},
    "cuda_implicit": {},
    "cuda_window": {},
    "pytorch_cuda": {"math": "default"},
}
MATHS = {"TF32": "tf32", "half": "float16"}
TENSOR_CORES = ("cuda_implicit_wgmma", "cuda_implicit_tma", "cuda_window_mma", "pytorch_cuda")
METHODS |= {f"{name}, {words}": {"math": math} for words, math in MATHS.items() for name in TENSOR_CORES}
MEMORIES, COPIES = ("pinned", "staged", "pageable"), ("hidden", "after")
# Ways to draw on several GPUs, {words: key of LINES}.
WAYS = {
    "threads": "host-threads",
    "threads, a graph each": "graph",
    "threads, a graph each, tapered": "tapered",
    "ranks": "ranks",
    "threads, pageable memory": "pageable",
    "threads, half precision, a graph each": "half",
}


def layers(study):
    """TFLOP/s of every layer by every method, without products by zero."""
    rows = []
    for name in METHODS:
        label = ", ".join(part if part in MATHS else code(part) for part in name.split(", "))
        rows.append([label, *(flops(method_rows(study, name, h), 1e12) for h in HEIGHTS)])
    rows = [row for row in rows if {*row[1:]} != {NONE}]
    return latex.table("lrrrr", ["Method", *(f"to ${2 * h} \\times {2 * h}$" for h in HEIGHTS)], rows)


def method_rows(study, name, h):
    """The rows of a method for the layer with input height `h`."""
    return where(study.frame("layers"), variant=name.partition(",")[0], h=h, **METHODS[name])


def home(study):
    """The time of a call with its copies by memory, hidden or after each batch, by the earlier kernels and by ours."""
    rows = []
    for memory in MEMORIES:
        cases = [study.find(call(memory, copies)) for call in (claims.study_call, claims.our_call) for copies in COPIES]
        rows.append([code(memory), *map(median, cases)])
    head = latex.group_head(["Memory"], {"earlier kernels": COPIES, "our kernels": COPIES})
    return latex.table("lrrrr", head, rows if {cell for _, *times in rows for cell in times} != {NONE} else ())


def gpus(study):
    """Seconds by images and GPUs in the earlier study's Table 4, and on our ranks, steady and, if measured, cold."""
    counts = [int(x) for x in values(where(study.frame("ranks"), variant="mpi_home", first="cuda_im2col"), "ranks")]
    groups = {"then, GPUs in each of two nodes": [formats.gpus(count) for count in (1, 2, 4)]}
    calls = [[gpu_run("ranks-then", "ranks", count, images) for count in counts] for images in earlier.IMAGE_COUNTS]
    rows = [[num(n), *(seconds(then[n], 3) for then in earlier.CALL_TIMES.values())] for n in earlier.IMAGE_COUNTS]
    for title, select_time, digits in (("cold", cold_start, 2), ("steady", lambda call: call, 3)):
        cells = [[median(study.find(select_time(call)), digits) for call in row_calls] for row_calls in calls]
        if any(cell != NONE for row in cells for cell in row):
            groups[f"now, {title}"] = [formats.gpus(count) for count in counts]
            rows = [[*row, *new_cells] for row, new_cells in zip(rows, cells, strict=True)]
    return latex.table("r" * len(rows[0]), latex.group_head(["Pictures"], groups), rows if len(counts) > 1 else ())


def most_gpus(study):
    """The time of a call on one GPU and on more in each of WAYS, and the parallel efficiency; none with up to two."""
    largest, rows = max(values(study.frame("several GPUs"), "gpus"), default=0), []
    if largest <= 2:
        return latex.table("", (), ())
    counts = values(where(study.frame("most GPUs"), images=IMAGES), "gpus")
    counts = sorted({1, largest, *(count for count in counts if count < largest)})
    for name, line in WAYS.items():
        cases = [study.find(gpu_run(line, "most GPUs", count)) for count in counts]
        if any(map(len, cases)):
            efficiency = ratios.efficiency(ratios.of(cases[0], cases[-1]), counts[-1])
            rows.append([name, *map(median, cases), efficiency or NONE])
    head = ["", *map(formats.gpus, counts), f"efficiency on {counts[-1]}"]
    return latex.table("l" + "r" * (len(counts) + 1), head, rows)
