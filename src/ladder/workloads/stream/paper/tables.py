"""The tables of the measured ceilings of every machine, of its cores and of its GPUs."""

import numpy as np

from ladder.records.case import Case
from ladder.report import latex
from ladder.report.cells import rate
from ladder.report.latex import code
from ladder.store import rates, roofs
from ladder.store.study import best_rate, values
from ladder.workloads import stream

KERNELS = stream.SIZES["kernel"]
TRANSFERS = ("to device", "to host")
DTYPES, HALVES = ("float64", "float32"), ("float16", "bfloat16")
GIGA, TERA = 1e9, 1e12


def ceilings(study):
    """Arithmetic on one thread and at best, streams at best."""
    one_and_best = ["1 thread", "best"]
    groups = {"float64, GFLOP/s": one_and_best, "float32, GFLOP/s": one_and_best, "GB/s": KERNELS}
    return of_machines(study, host_cells, 0.26, groups)


def host_cells(machine):
    """The cells of a machine's cores; none without a rate."""
    every = [roofs.arithmetic(machine, dtype, threads) for dtype in DTYPES for threads in (1, None)]
    every += [roofs.bandwidth(machine, kernel=kernel) for kernel in KERNELS]
    return [rate(best, GIGA) for best in every] if any(every) else []


def gpu_ceilings(study):
    """Arithmetic of each machine's GPU, its memory, and the copies to it and back."""
    dtypes = [*map(code, DTYPES)]
    groups = {"products, TFLOP/s": [*dtypes, code("tf32"), "half"], "multiply-adds, TFLOP/s": dtypes}
    return of_machines(study, gpu_cells, 0.15, groups | {"memory, GB/s": KERNELS, "link, GB/s": ["to", "from"]})


def gpu_cells(machine):
    """The cells of a machine's GPU; none without a rate."""
    halves = [roofs.gpu_arithmetic(machine, precision) for precision in HALVES]
    flops = [roofs.gpu_arithmetic(machine, precision) for precision in (*DTYPES, "tf32")]
    flops += [max(filter(None, halves), default=None)]
    flops += [rates.multiply_adds(machine, dtype, "cuda") for dtype in DTYPES]
    moved = [roofs.gpu_bandwidth(machine, kernel) for kernel in KERNELS] + [link(machine, way) for way in TRANSFERS]
    cells = [*(rate(value, TERA) for value in flops), *(rate(value, GIGA) for value in moved)]
    return cells if any([*flops, *moved]) else []


def of_machines(study, cells, width, groups):
    """A row for each machine with cells; the columns stand in groups, {words above: titles}."""
    rows = [[code(name), *row] for name in study.machines() if (row := cells(study.of(name)))]
    head = latex.group_head(["Machine"], groups)
    return latex.table(rf">{{\raggedright}}p{{{width}\linewidth}}" + "r" * (len(head) - 1), head, rows)


def link(machine, way):
    """The best B/s at which STREAM's arrays were copied to or from the GPU, or None."""
    frame, moved = machine.samples(rates.LINK, phase=way), {}
    for slug in values(frame, "case"):
        arrays = stream.arrays(Case.parse("stream", "cuda", slug).sizes)[TRANSFERS.index(way)]  # inputs, or results
        moved[slug] = sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in arrays.values())
    return best_rate(frame.assign(moved=frame["case"].map(moved)), "moved") if len(frame) else None
