"""The tables of the supplement: peers, the GPU's epochs, and another group's numbers beside ours."""

from ladder.report import latex
from ladder.report.cells import NONE, median, share
from ladder.report.latex import code, digits
from ladder.report.telling.ladder import insert_rules
from ladder.report.telling.lines import select_rows
from ladder.store import rates
from ladder.store import study as queries
from ladder.workloads.mlp.paper import earlier as other_group
from ladder.workloads.mlp.paper.claims import PHASES, deep_launches, deep_net
from ladder.workloads.mlp.paper.lines import COMPILED, DTYPE, EAGER, GPU_PRODUCTS, THREADS

TRAININGS: dict[str, dict] = {name: {"variant": "host", "product": name} for name in ("tiled", "blas")}
TRAININGS |= {"numpy_loop": {"variant": "numpy_loop"}, "pytorch": {"variant": "pytorch"} | EAGER}
TRAININGS |= {"pytorch, compiled": {"variant": "pytorch"} | COMPILED}
GPU_TRAININGS: dict[str, dict] = {name: {"variant": "cuda", "product": name} for name in GPU_PRODUCTS}
GPU_TRAININGS |= {"pytorch_cuda": {"variant": "pytorch_cuda"} | EAGER}
GPU_TRAININGS |= {"pytorch_cuda, compiled": {"variant": "pytorch_cuda"} | COMPILED}


def peers(study):
    """The training and its peers, by batch and threads."""
    host, groups = study.machine("host"), []
    frame = host.samples("mlp_peers", dtype=DTYPE)
    for batch in queries.values(frame, "batch"):
        rows, group = queries.largest_size(queries.where(frame, batch=batch)), []
        for name, tuning in TRAININGS.items():
            for count, case in queries.by_threads(select_rows(rows, tuning)).items():
                ceiling_share = share(case, rates.products(host, DTYPE, count), 2)
                group.append([str(batch), code(name), str(count), median(case), ceiling_share])
        groups.append(group)
    return latex.table("rlrrr", ["Batch", "Training", "Threads", "Epoch", "of ceiling"], insert_rules(groups))


def gpu(study):
    """The epoch on the GPU by product and PyTorch's, with and without a graph; names tell if they use TF32."""
    frame, groups = study.machine("gpu").samples("mlp_gpu"), []
    for dtype in queries.values(frame, "dtype")[::-1]:
        groups.append([])
        for name, tuning in GPU_TRAININGS.items():
            if len(rows := select_rows(queries.where(frame, dtype=dtype), tuning)):
                words = code(name) + (", TF32" if rows["precision"].iloc[0] == "tf32" else "")
                times = (median(queries.where(rows, graph=graph)) for graph in ("off", "on"))
                groups[-1].append([words, code(dtype), *times])
    return latex.table("llrr", ["Product", "Type", "kernel launches", "CUDA graph"], insert_rules(groups))


def earlier(study):
    """Another group's seconds of a training by form and threads, and ours of a batch, each with its speed-up."""
    groups = []
    for product, times in other_group.HOST_TIMES.items():
        groups.append([])
        for number, form in enumerate(other_group.FORMS):
            theirs, trainings = [times[count][number] for count in THREADS], [deep_net(product, n) for n in THREADS]
            ours = [queries.median_time(study.find(training.phase(*PHASES[form]))) for training in trainings]
            if any(ours):
                groups[-1].append([code(product), form, "then, s", *time_cells(theirs, 1)])
                groups[-1].append(["", "", "now, ms", *time_cells(ours, 1e-3)])
    return latex.table("lllrrrrrr", ["Product", "Form", "", *map(str, THREADS)], insert_rules(groups))


def earlier_gpu(study):
    """The same on a GPU by kernel, with the speed-up over the naive one."""
    rows = []
    for number, form in enumerate(other_group.FORMS):
        trainings = map(deep_launches, other_group.GPU_TIMES)
        ours = [queries.median_time(study.find(training.phase(*PHASES[form]))) for training in trainings]
        if any(ours):
            theirs = [times[number] for times in other_group.GPU_TIMES.values()]
            rows.append([form, *time_cells(theirs, 1), *time_cells(ours, 1e-6)])
    names = [*map(code, other_group.GPU_TIMES)]
    return latex.table("lrrrrrr", latex.group_head(["Form"], {"then, s": names, "now, µs": names}), rows)


def time_cells(seconds, unit):
    """Cells of times as multiples of `unit` seconds, with the first time over each; above 1000 with all digits."""
    first, cells = seconds[0], []
    for time in seconds:
        text = time and (str(time) if time > 1000 else digits(time / unit))
        cells.append(f"{text} ({digits(first / time, 2)})" if first and time else text or NONE)
    return cells
