"""The tables of matrix products in the supplement: on one thread, by threads, and on a GPU."""

from functools import partial

from ladder.report import latex, ratios
from ladder.report.cells import NONE, flops, median, share, speedup
from ladder.report.latex import code, digits
from ladder.report.telling.ladder import insert_rules
from ladder.store import rates
from ladder.store.study import NO_ROWS, by_threads, largest_size, values, where
from ladder.workloads.gemm import RUNGS, SIZES
from ladder.workloads.gemm.paper.lines import LINES, ONE_THREAD_SOURCES, SQUARE, TRAINING
from ladder.workloads.gemm.paper.text import error

FORMS = SIZES["form"]
TERA, SHAPE = 1e12, "${m} \\times {n} \\times {k}$"
TUNINGS = {"cuda_naive": {}, "cuda_shared": {"block": 16}, "cuda_tiled": {}, "cuda_mma": {}}  # 16: the earlier study's


def rows_by_variant(rows):
    """The rows of every variant, [(variant, rows)], in the order of the rungs."""
    return [(name, where(rows, variant=name)) for name in RUNGS if name in set(values(rows, "variant"))]


def table_by_form(columns, first_heads, value_head, groups):
    """A table with two columns per form: a value and the share of the ceiling; `columns` are their types in LaTeX."""
    head = latex.group_head(first_heads, {code(form): [value_head, "of ceiling"] for form in FORMS})
    return latex.table(columns, head, insert_rules(groups))


def form_cells(rows, show, ceiling):
    """The two cells of every form: `show(rows)`, and the share of the ceiling."""
    return [cell for case in (where(rows, form=form) for form in FORMS) for cell in (show(case), share(case, ceiling))]


def square(study):
    """Time and share of the ceiling of every variant and form, at each size, on one thread."""
    groups = []
    for frame in map(study.frame, ONE_THREAD_SOURCES):
        for dtype in values(frame, "dtype")[::-1]:
            ceiling = rates.products(study.machine("host"), dtype, 1)
            for size in values(where(frame, dtype=dtype), "m"):
                groups.append([])
                for name, rows in rows_by_variant(where(frame, dtype=dtype, m=size)):
                    labels = [code(name), code(dtype), SHAPE.format(**rows.iloc[0])]
                    groups[-1].append([*labels, *form_cells(rows, median, ceiling)])
    return table_by_form("lllrrrrrr", ["Variant", "Type", "Size"], "time", groups)


def threads(study):
    """The training's products: per form and variant the time on one thread and on all, and the speed-up."""
    frame, groups = study.frame("threads"), []
    for form in FORMS:
        groups.append([])
        for name, rows in rows_by_variant(largest_size(where(frame, form=form))):
            cases = by_threads(rows)
            single, largest = cases.get(1, NO_ROWS), max(cases)
            ceiling = rates.products(study.machine("host"), "float64", largest)
            cells = [median(single), median(cases[largest]), share(cases[largest], ceiling), str(largest)]
            gain = speedup(single, cases[largest]) if largest > 1 else NONE
            groups[-1].append([code(form), code(name), *cells, gain])
    head = ["Form", "Variant", "1 thread", "most", "of ceiling", "threads", "speed-up"]
    return latex.table("llrrrrr", head, insert_rules(groups))


def gpu(study):
    """FLOP/s of every rung and tuning on the square product, and their share of the best rate of their precision."""
    machine, groups = study.machine("gpu"), []
    for frame in map(study.frame, SQUARE.values()):
        groups.append([])
        for name, cases in rows_by_variant(frame):
            tunings = cases["case"].str.partition(",cache=")[2].str.partition(",")[2]
            for tuning, rows in cases.groupby(tunings):
                precision = rows["precision"].iloc[0]
                cells = form_cells(rows, partial(flops, unit=TERA), rates.products(machine, precision, device="cuda"))
                groups[-1].append([code(name), latex.escape(tuning.replace(",", ", ")), code(precision), *cells])
    columns = r"l>{\raggedright}p{0.2\linewidth}lrrrrrr"
    return table_by_form(columns, ["Variant", "Tuning", "Precision"], "TFLOP/s", groups)


def gpu_mixed(study):
    """A row per precision: time, FLOP/s, their share of the ceiling, the speed-up over float32, and the error."""
    rows, machine, base = [], study.machine("mixed"), study.find("float32")
    for name, case in ((name, study.find(name)) for name in LINES):
        if len(case):  # `tf32x3`, three products instead of one, has no ceiling
            ceiling = rates.products(machine, name, device="cuda") if name != "tf32x3" else None
            gain = speedup(base, case) if name != "float32" else NONE
            cells = [code(name), code(study.line(name).variant), median(case), flops(case, TERA), share(case, ceiling)]
            rows.append([*cells, gain, error(study, name) or NONE])
    return latex.table("llrrrrr", ["Precision", "Variant", "time", "TFLOP/s", "of ceiling", "gain", "error"], rows)


def gpu_training(study):
    """The time of cuBLAS on the training's products, and the speed-ups over it of the rungs in its precision."""
    groups = []
    for frame in map(study.frame, TRAINING.values()):
        for precision in sorted(values(frame, "precision"), key=("float64", "float32", "tf32").index):
            groups.append([])
            for products in (where(frame, precision=precision, form=form) for form in FORMS):
                for rows in (where(products, flops=count) for count in values(products, "flops")[::-1]):
                    first, base = rows.iloc[0], where(rows, variant="cublas")
                    speedups = [ratios.of(base, where(rows, variant=name, **keys)) for name, keys in TUNINGS.items()]
                    cells = [code(precision), code(first["form"]), *(latex.num(first[name]) for name in "mnk")]
                    gains = [digits(ratio.value) if ratio else NONE for ratio in speedups]
                    groups[-1].append([*cells, median(base), *gains])
    heads = ["Precision", "Form", "M & N & K", code("cublas"), *map(code, TUNINGS)]
    return latex.table("llrrrrrrrr", heads, insert_rules(groups))
