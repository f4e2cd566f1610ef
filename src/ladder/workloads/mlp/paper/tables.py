"""The tables of the supplement: peers, the GPU's epochs, all machines side by side, and the numbers of then."""

from ladder.report import latex
from ladder.report.cells import NONE, flops, median, share
from ladder.report.latex import code, digits
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.ladder import with_rules
from ladder.store import rates, study
from ladder.workloads.mlp.paper import earlier as then
from ladder.workloads.mlp.paper.claims import deep, one_by_one, timed
from ladder.workloads.mlp.paper.lines import DTYPE, GPU_PRODUCTS, PRODUCTS, THREADS

PEERS = {name: {"variant": "host", "product": name} for name in ("tiled", "blas")}
PEERS |= {name: {"variant": name} for name in ("numpy_loop", "pytorch")}
ON_GPU = {name: {"variant": "cuda", "product": name} for name in GPU_PRODUCTS}
ON_GPU |= {"pytorch_cuda": {"variant": "pytorch_cuda"}}


def peers(chapter):
    """The training and its peers, by batch and threads."""
    host, groups = chapter.machine("host"), []
    frame = host.samples("mlp_peers", dtype=DTYPE)
    for batch in study.values(frame, "batch"):
        rows, group = study.largest_size(study.where(frame, batch=batch)), []
        for name, tuning in PEERS.items():
            for count, case in study.by_threads(study.where(rows, **tuning)).items():
                of_ceiling = share(case, rates.products(host, DTYPE, count), 2)
                group.append([str(batch), code(name), str(count), median(case), of_ceiling])
        groups.append(group)
    return latex.table("rlrrr", ["Batch", "Training", "Threads", "Epoch", "of ceiling"], with_rules(groups))


def gpu(chapter):
    """The epoch on the GPU by product and PyTorch's, with and without a graph; names tell if they use TF32."""
    frame, groups = chapter.machine("gpu").samples("mlp_gpu"), []
    for dtype in study.values(frame, "dtype")[::-1]:
        groups.append([])
        for name, tuning in ON_GPU.items():
            if len(rows := study.where(frame, dtype=dtype, **tuning)):
                words = code(name) + (", TF32" if rows["precision"].iloc[0] == "tf32" else "")
                times = (median(study.where(rows, graph=graph)) for graph in ("off", "on"))
                groups[-1].append([words, code(dtype), *times])
    return latex.table("llrr", ["Product", "Type", "kernel launches", "CUDA graph"], with_rules(groups))


def compared(chapter):
    """The machines side by side: the rungs on the square product, and the best training by two of them."""
    rows = [of_machine(chapter.study.of(name), name) for name in chapter.study.machines()]
    groups = {"product, GFLOP/s": PRODUCTS, "training, best time (threads)": ("openmp", "blas")}
    head = latex.group_head(["Machine", "Size"], {words: [*map(code, names)] for words, names in groups.items()})
    columns = r">{\raggedright}p{0.19\linewidth}lrrrrrr"
    return latex.table(columns, head, [row for row in rows if {*row[2:]} != {NONE}])


def of_machine(machine, name):
    """A machine's row. A training has its best number of threads, chosen on other processes than it is tested on."""
    square = study.largest_size(machine.samples("gemm_square", threads=1, dtype=DTYPE, form="nn"))
    cells = [code(name), f"${square['m'].iloc[0]}^3$" if len(square) else NONE]
    cells += [flops(study.where(square, variant=variant), 1e9) for variant in PRODUCTS]
    trainings = study.largest_size(machine.samples("mlp_threads", dtype=DTYPE, device="host"))
    for product in ("openmp", "blas"):
        counts = study.by_threads(study.where(trainings, product=product))
        best, rows = study.best_and_test_rows(counts) if counts else (None, ())
        cells.append(f"{median(rows)} ({best})" if counts else NONE)
    return cells


def earlier(chapter):
    """Another group's seconds of a training by form and threads, and ours of a batch, each with its speed-up."""
    groups = []
    for product, times in then.ON_HOST.items():
        for form, seconds in times.items():
            part = None if form == "whole" else form
            now = [middle(chapter, deep(product, count), part) for count in THREADS]
            name = [code(product), "whole" if part is None else code(form)]
            groups.append([[*name, "then, s", *gains(seconds, 1)], ["", "", "now, ms", *gains(now, 1e-3)]])
    return latex.table("lllrrrrrr", ["Product", "Form", "", *map(str, THREADS)], with_rules(groups))


def earlier_gpu(chapter):
    """The same on a GPU by kernel, with the speed-up over the naive one."""
    rows = []
    for form in next(iter(then.ON_GPU.values())):
        part = None if form == "whole" else form
        seconds = [times[form] for times in then.ON_GPU.values()]
        now = [middle(chapter, one_by_one(product), part) for product in then.ON_GPU]
        rows.append(["whole" if part is None else code(form), *gains(seconds, 1), *gains(now, 1e-6)])
    names = [*map(code, then.ON_GPU)]
    return latex.table("lrrrrrr", latex.group_head(["Form"], {"then, s": names, "now, µs": names}), rows)


def middle(chapter, selection, part):
    """The median seconds of a training, or of its products of a form; None where they weren't measured."""
    try:
        return study.middle(timed(chapter, selection, part))
    except NotMeasured:
        return None


def gains(seconds, unit):
    """Cells of times in multiples of `unit`, each with the first time over it."""
    first = seconds[0]
    ratios = [f" ({digits(first / time, 2)})" if first and time else "" for time in seconds]
    return [digits(time / unit) + ratio if time else NONE for time, ratio in zip(seconds, ratios, strict=True)]
