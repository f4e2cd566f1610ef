"""The tables of the chapter: layers by method, copies to the host, and calls on one and more GPUs."""

from ladder.report import latex, ratios
from ladder.report.cells import NONE, flops, median
from ladder.report.figures import formats
from ladder.report.latex import code, num
from ladder.store.study import middle, values, where
from ladder.workloads.dcgan import layout
from ladder.workloads.dcgan.paper import claims, earlier
from ladder.workloads.dcgan.paper.lines import IMAGES, on_gpus, starts

GATHERED = "cuda_im2col, cublas"
HEIGHTS = [h for h, *_ in layout.layers(layout.CHANNELS)]  # rows of the images before each layer
METHODS = {
    "cuda_parity": {},
    "cuda_im2col, cuda_columns": {"product": "cuda_columns"},
    GATHERED: {"product": "cublas"},
    "cuda_col2im, cublas": {"product": "cublas"},
    "cuda_implicit": {},
    "cuda_window": {},
    "pytorch_cuda": {"math": "default"},
}
MATHS = {"TF32": "tf32", "half": "float16"}
TENSOR_CORES = ("cuda_implicit_wgmma", "cuda_implicit_tma", "cuda_window_mma", "pytorch_cuda")
METHODS |= {f"{name}, {words}": {"math": math} for words, math in MATHS.items() for name in TENSOR_CORES}
MEMORIES = ("pinned", "staged", "pageable")
# Ways to draw on several GPUs.
WAYS = {
    "threads": "threads",
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
        rows.append([label, *(flops(of_method(study, name, h), 1e12) for h in HEIGHTS)])
    rows = [row for row in rows if {*row[1:]} != {NONE}]
    return latex.table("lrrrr", ["Method", *(f"to ${2 * h} \\times {2 * h}$" for h in HEIGHTS)], rows)


def of_method(study, name, h):
    """The rows of a method for the layer with input height `h`."""
    return where(study.frame("layers"), variant=name.partition(",")[0], h=h, **METHODS[name])


def layers_time(study, name):
    """Seconds of all layers but the last by a method; None if one of them wasn't measured."""
    rows = [of_method(study, name, h) for h in HEIGHTS[:-1]]
    return sum(map(middle, rows)) if all(map(len, rows)) else None


def home(study):
    """The time of a call with all pictures copied, by memory and whether copies are hidden."""
    columns = [(copies, math) for math in ("float32", "float16") for copies in ("hidden", "after")]
    rows = []
    for memory in MEMORIES:
        cases = [study.find(claims.copied(memory, *column)) for column in columns]
        times = [latex.seconds(IMAGES * middle(case)) if len(case) else NONE for case in cases]
        rows.append([code(memory), *times])
    head = ["Memory", "float32, hidden", "after", "float16, hidden", "after"]
    return latex.table("lrrrr", head, rows if {cell for _, *times in rows for cell in times} != {NONE} else ())


def gpus(study):
    """Times by number of images: in the earlier study on two nodes (then), and ours without and with start-up (now)."""
    counts, rows = numbers_of_gpus(study), []
    sizes = [{*values(where(study.frame("threads"), gpus=count), "images")} for count in counts]
    for size in sorted(set().union(*sizes) & {*earlier.CALLS[2]}):
        now = [study.find(on_gpus("threads", "most", count, size)) for count in counts]
        then = [latex.seconds(times[size], 3) for times in earlier.CALLS.values()]
        with_start = [latex.seconds(middle(case), 2) if len(case) else NONE for case in map(starts, now)]
        rows.append([num(size), *then, *map(median, now), *with_start])
    then, now = (list(map(formats.gpus, numbers)) for numbers in (earlier.CALLS, counts))
    head = latex.group_head(["Pictures"], {"then, with start-up": then, "now, a call": now, "now, with start-up": now})
    return latex.table("r" * len(head), head, rows)


def numbers_of_gpus(study):
    """1, the largest number of GPUs, and the numbers between that drew IMAGES pictures; [] without several GPUs."""
    largest = max(values(study.frame("threads"), "gpus"), default=0)
    counts = values(where(study.frame("most"), images=IMAGES), "gpus")
    return sorted({1, largest, *(count for count in counts if count < largest)}) if largest > 1 else []


def most_gpus(study):
    """The time of a call on one GPU and on more in each of WAYS, and the parallel efficiency on all GPUs."""
    counts, rows = numbers_of_gpus(study), []
    if not counts or counts[-1] == 2:
        return latex.table("", (), ())
    for name, way in WAYS.items():
        cases = [study.find(on_gpus(way, "most", count)) for count in counts]
        if any(map(len, cases)):
            efficiency = ratios.efficiency(ratios.of(cases[0], cases[-1]), counts[-1])
            rows.append([name, *map(median, cases), efficiency or NONE])
    head = ["", *map(formats.gpus, counts), f"efficiency on {counts[-1]}"]
    return latex.table("l" + "r" * (len(counts) + 1), head, rows)
