"""The tables of the measured ceilings of every machine, of its cores and of its cards."""

from ladder.report import latex, roofs
from ladder.report.cells import rate
from ladder.report.latex import code
from ladder.workloads.fma.paper.numbers import multiply_adds
from ladder.workloads.stream.paper.numbers import KERNELS, TRANSFERS, link

DTYPES, HALVES = ("float64", "float32"), ("float16", "bfloat16")
GIGA, TERA = 1e9, 1e12


def tables(found):
    """Every table's LaTeX by its name."""
    return {"ceilings": of_cores(found), "gpu_ceilings": of_cards(found)}


def of_cores(found):
    """Arithmetic on one thread and at best, streams at best."""
    rows = []
    for name in found.machines():
        machine = found.of(name)
        rates = [roofs.arithmetic(machine, dtype, threads) for dtype in DTYPES for threads in (1, None)]
        rates += [roofs.bandwidth(machine, kernel=kernel) for kernel in KERNELS]
        if any(rates):
            rows.append([code(name), *(rate(best, GIGA) for best in rates)])
    one, best = r"1 thread", "best"
    head = ["", one, best, one, best, *KERNELS]
    groups = (
        r"& \multicolumn{2}{c}{float64, GFLOP/s} & \multicolumn{2}{c}{float32, GFLOP/s} & \multicolumn{3}{c}{GB/s} \\"
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}\cmidrule(l){6-8}"
    )
    head[0] = groups + "\nMachine"
    return latex.table(r">{\raggedright}p{0.26\linewidth}rrrrrrr", head, rows)


def of_cards(found):
    """Arithmetic of each machine's card, its memory, and the copies to it and back."""
    rows = []
    for name in found.machines():
        one = found.of(name)
        halves = [roofs.card_arithmetic(one, precision) for precision in HALVES]
        products = [roofs.card_arithmetic(one, precision) for precision in (*DTYPES, "tf32")]
        flops = [*products, max(filter(None, halves), default=None), *(multiply_adds(one, dtype) for dtype in DTYPES)]
        rates = [*(roofs.card_bandwidth(one, kernel) for kernel in KERNELS), *(link(one, phase) for phase in TRANSFERS)]
        if any([*flops, *rates]):
            cells = [*(rate(best, TERA) for best in flops), *(rate(best, GIGA) for best in rates)]
            rows.append([code(name), *cells])
    heads = r"& \multicolumn{4}{c}{products, TFLOP/s} & \multicolumn{2}{c}{multiply-adds, TFLOP/s}"
    heads += r" & \multicolumn{3}{c}{memory, GB/s} & \multicolumn{2}{c}{link, GB/s} \\"
    heads += r"\cmidrule(lr){2-5}\cmidrule(lr){6-7}\cmidrule(lr){8-10}\cmidrule(l){11-12}" + "\nMachine"
    heads = [heads, *map(code, [*DTYPES, "tf32"]), "half", *map(code, DTYPES), *KERNELS, "to", "from"]
    return latex.table(r">{\raggedright}p{0.15\linewidth}rrrrrrrrrrr", heads, rows)
