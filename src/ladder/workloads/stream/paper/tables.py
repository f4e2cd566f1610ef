"""The tables of the measured ceilings of every machine, of its cores and of its GPUs."""

import numpy as np

from ladder.machine.data_sheets import PEAK_RATES
from ladder.records.case import Case
from ladder.report import latex
from ladder.report.cells import NONE, rate
from ladder.report.latex import code, escape
from ladder.store import rates, roofs
from ladder.store.study import best_rate, values
from ladder.workloads import stream

KERNELS = stream.SIZES["kernel"]
TRANSFERS = ("to device", "to host")
DTYPES, HALF_DTYPES = ("float64", "float32"), ("float16", "bfloat16")
GIGA, TERA = 1e9, 1e12


def ceilings(study):
    """The rates of arithmetic on one thread and at best, and those of streams at best."""
    one_and_best = ["1 thread", "best"]
    groups = {"float64, GFLOP/s": one_and_best, "float32, GFLOP/s": one_and_best, "GB/s": KERNELS}
    rows = [[code(name), *cells] for name, cells in machine_rows(study, host_cells)]
    return table(rows, 0.26, groups)


def host_cells(machine):
    """The cells of a machine's cores; none if it has no rate."""
    best_rates = [roofs.arithmetic(machine, dtype, threads) for dtype in DTYPES for threads in (1, None)]
    best_rates += [roofs.bandwidth(machine, kernel=kernel) for kernel in KERNELS]
    return [rate(best, GIGA) for best in best_rates] if any(best_rates) else []


def gpu_ceilings(study):
    """The rates of each machine's GPU, its arithmetic, memory and copies, and what their data sheets promise."""
    dtypes = [*map(code, DTYPES)]
    groups = {"products, TFLOP/s": [*dtypes, code("tf32"), "half"], "multiply-adds, TFLOP/s": dtypes}
    groups |= {"memory, GB/s": KERNELS, "link, GB/s": ["to", "from"]}
    gpu_rows = machine_rows(study, gpu_cells)
    models = {gpu["name"] for name, _ in gpu_rows for gpu in study.for_machine(name).description.get("gpus", [])}
    sheet_rows = [data_sheet_row(model, PEAK_RATES[model]) for model in sorted(models & set(PEAK_RATES))]
    return table([[code(name), *cells] for name, cells in gpu_rows] + sheet_rows, 0.15, groups)


def gpu_cells(machine):
    """The cells of a machine's GPU; none if it has no rate."""
    flops = [roofs.gpu_arithmetic(machine, precision) for precision in (*DTYPES, "tf32")]
    flops += [max(filter(None, (roofs.gpu_arithmetic(machine, half) for half in HALF_DTYPES)), default=None)]
    flops += [rates.multiply_adds(machine, dtype, "cuda") for dtype in DTYPES]
    bandwidths = [roofs.gpu_bandwidth(machine, kernel) for kernel in KERNELS]
    bandwidths += [link_rate(machine, direction) for direction in TRANSFERS]
    cells = [*(rate(value, TERA) for value in flops), *(rate(value, GIGA) for value in bandwidths)]
    return cells if any([*flops, *bandwidths]) else []


def data_sheet_row(model, sheet):
    """What the data sheet of a GPU promises, in the columns of `gpu_cells`; the link is the host's."""
    flops = [sheet[precision] for precision in (*DTYPES, "tf32", HALF_DTYPES[0])]
    flops += [sheet["multiply-adds"][dtype] for dtype in DTYPES]
    memory, link = [rate(sheet["bandwidth"], GIGA)] * len(KERNELS), [NONE] * len(TRANSFERS)
    return [f"{escape(model)}, data sheet", *(rate(value, TERA) for value in flops), *memory, *link]


def machine_rows(study, cells_of):
    """[(name, cells)] of the machines for which `cells_of` returns any."""
    return [(name, cells) for name in study.machines() if (cells := cells_of(study.for_machine(name)))]


def table(rows, width, groups):
    """Rows of cells as LaTeX; `width` of the first column in lines; `groups` of columns are {words above: titles}."""
    head = latex.group_head(["Machine"], groups)
    return latex.table(rf">{{\raggedright}}p{{{width}\linewidth}}" + "r" * (len(head) - 1), head, rows)


def link_rate(machine, direction):
    """The best B/s at which STREAM's arrays were copied to or from the GPU, or None."""
    frame, byte_counts = machine.samples(rates.LINK_EXPERIMENT, phase=direction), {}
    for slug in values(frame, "case"):
        arrays = stream.arrays(Case.parse("stream", "cuda", slug).sizes)[TRANSFERS.index(direction)]  # inputs, results
        byte_counts[slug] = sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in arrays.values())
    return best_rate(frame.assign(moved=frame["case"].map(byte_counts)), "moved") if len(frame) else None
