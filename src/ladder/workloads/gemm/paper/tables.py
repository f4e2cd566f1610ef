"""The tables of products of two matrices, all of the supplement: on one thread, by threads, and on a GPU."""

from ladder.report import latex, rates, ratios
from ladder.report.cells import NONE, median
from ladder.report.latex import code, digits, percent
from ladder.report.study import NO_ROWS, by_threads, middle, one_size, values, where
from ladder.report.telling.case_tables import ruled
from ladder.report.telling.chapter_study import NotMeasured
from ladder.workloads.gemm import RUNGS, SIZES
from ladder.workloads.gemm.paper.lines import LINES, ON_HOST, SQUARE, TRAINING
from ladder.workloads.gemm.paper.text import error

FORMS = SIZES["form"]
TRAINED = ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma")
TERA = 1e12


def tables(study):
    """Every table's LaTeX by its name."""
    return {
        "square": square(study),
        "threads": threads(study),
        "gpu": gpu(study),
        "gpu_mixed": mixed(study),
        "gpu_training": gpu_training(study),
    }


def achieved(rows):
    """FLOP/s of a case, or None."""
    return rows["flops"].iloc[0] / middle(rows) if len(rows) else None


def share(rows, ceiling):
    """FLOP/s of a case over a ceiling of its precision."""
    return percent(achieved(rows) / ceiling) if len(rows) and ceiling else NONE


def variants(rows):
    """The rows of every variant, {variant: rows}, in the order of the rungs."""
    return {name: where(rows, variant=name) for name in RUNGS if name in set(values(rows, "variant"))}


def of_forms(columns, heads, what, rows):
    """A table of three columns and, for every form, two more."""
    over = " & ".join(rf"\multicolumn{{2}}{{c}}{{{code(form)}}}" for form in FORMS)
    over = rf"&&& {over} \\\cmidrule(lr){{4-5}}\cmidrule(lr){{6-7}}\cmidrule(l){{8-9}}" + f"\n{heads[0]}"
    return latex.table(columns, [over, *heads[1:], *[what, "of ceiling"] * len(FORMS)], rows)


def square(study):
    """Time and share of the ceiling of every variant and form on square products, one thread."""
    groups = []
    for frame in map(study.frame, ON_HOST):
        for dtype in values(frame, "dtype")[::-1]:
            ceiling = rates.products(study.machine("host"), dtype, 1)
            for size in values(where(frame, dtype=dtype), "m"):
                here = variants(where(frame, dtype=dtype, m=size))
                groups.append([timed(name, dtype, rows, ceiling) for name, rows in here.items()])
    return of_forms("lllrrrrrr", ["Variant", "Type", "Size"], "time", ruled(groups))


def timed(name, dtype, rows, ceiling):
    """The cells of a variant: time and share of every form."""
    cells = [code(name), code(dtype), "${m} \\times {n} \\times {k}$".format(**rows.iloc[0])]
    forms = (where(rows, form=form) for form in FORMS)
    return cells + [cell for case in forms for cell in (median(case), share(case, ceiling))]


def threads(study):
    """The training's products: per form and variant the time on one thread and on the most, and the gain."""
    frame = study.frame("threads")
    groups = [
        [scaled(study, form, name, rows) for name, rows in variants(one_size(where(frame, form=form))).items()]
        for form in FORMS
    ]
    head = ["Form", "Variant", "1 thread", "most", "of ceiling", "threads", "speed-up"]
    return latex.table("llrrrrr", head, ruled(groups))


def scaled(study, form, name, rows):
    """The cells of a variant on one thread and on the most."""
    cases = by_threads(rows)
    one, most = cases.get(1, NO_ROWS), max(cases)
    ceiling, gain = rates.products(study.machine("host"), "float64", most), ratios.of(one, cases[most])
    cells = [code(form), code(name), median(one), median(cases[most]), share(cases[most], ceiling), str(most)]
    return [*cells, ratios.latex(gain) if gain and most > 1 else NONE]


def gpu(study):
    """FLOP/s of every rung and tuning on the large product, and the share of the best of cuBLAS in its precision."""
    groups = [
        [
            of_tuning(study, rows[rows["case"].map(tuned) == tuning], name, tuning)
            for name, rows in variants(study.frame(source)).items()
            for tuning in sorted({tuned(case) for case in rows["case"]})
        ]
        for source in SQUARE.values()
    ]
    columns = r"l>{\raggedright}p{0.2\linewidth}lrrrrrr"
    return of_forms(columns, ["Variant", "Tuning", "Precision"], "TFLOP/s", ruled(groups))


def of_tuning(study, rows, name, tuning):
    """The cells of a rung at one tuning: FLOP/s and share of every form."""
    precision = rows["precision"].iloc[0]
    cells = [code(name), latex.escape(tuning.replace(",", ", ")), code(precision)]
    ceiling = rates.products(study.machine("card"), precision, device="cuda")
    for form in FORMS:
        case = where(rows, form=form)
        cells += [digits(achieved(case) / TERA) if len(case) else NONE, share(case, ceiling)]
    return cells


def tuned(case):
    """The tuning in a case's slug."""
    return case.partition(",cache=")[2].partition(",")[2]


def mixed(study):
    """A row per precision: time, FLOP/s, their share of the ceiling, the gain over float32, and the error."""
    rows = [in_precision(study, name, case) for name in LINES if len(case := study.find(name))]
    head = ["Precision", "Variant", "time", "TFLOP/s", "of ceiling", "gain", "error"]
    return latex.table("llrrrrr", head, rows)


def in_precision(study, name, rows):
    """Its cells; three products in place of one have no ceiling, and float32 has no gain."""
    ceiling = rates.products(study.machine("mixed"), name, device="cuda") if name != "tf32x3" else None
    gain = ratios.of(study.find("float32"), rows) if name != "float32" else None
    cells = [code(name), code(study.line(name).variant), median(rows), digits(achieved(rows) / TERA)]
    cells += [share(rows, ceiling), ratios.latex(gain) if gain else NONE]
    try:
        return [*cells, error(study, name)]
    except NotMeasured:
        return [*cells, NONE]


def gpu_training(study):
    """The time of cuBLAS on the training's products, and the speed-ups of the rungs of its precision over it."""
    groups = []
    for frame in map(study.frame, TRAINING.values()):
        for precision in sorted(values(frame, "precision"), key=("float64", "float32", "tf32").index):
            products = [where(frame, precision=precision, form=form) for form in FORMS]
            every = [where(rows, flops=flops) for rows in products for flops in values(rows, "flops")[::-1]]
            groups.append([of_product(rows) for rows in every])
    heads = ["Precision", "Form", "M & N & K", code("cublas"), *map(code, TRAINED)]
    return latex.table("llrrrrrrrr", heads, ruled(groups))


def of_product(rows):
    """The cells of a product: those of `cuda_shared` in the blocks of the earlier study, the others have one tuning."""
    first, base = rows.iloc[0], where(rows, variant="cublas")
    cells = []
    for name in TRAINED:
        gain = ratios.of(base, where(rows, variant=name, **({"block": 16} if name == "cuda_shared" else {})))
        cells.append(digits(gain.value) if gain else NONE)
    shape = " & ".join(latex.num(first[name]) for name in "mnk")
    return [code(first["precision"]), code(first["form"]), shape, median(base), *cells]
