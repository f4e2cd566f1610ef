"""The tables of products of two matrices, all of the supplement: on one thread, by threads, and on a card."""

from ladder.report import latex, ratios, roofs, study
from ladder.report.cells import NONE
from ladder.report.latex import code, digits, percent
from ladder.statistics import claims
from ladder.workloads.gemm import RUNGS, SIZES
from ladder.workloads.gemm.paper import mixed
from ladder.workloads.gemm.paper.card import DTYPES, SQUARE, on_card, on_host

FORMS = SIZES["form"]
TRAINING = {dtype: f"gemm_gpu_training_{dtype}" for dtype in DTYPES}
TRAINED = ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma")


def tables(found):
    """Every table's LaTeX by its name."""
    card, host = on_card(found), on_host(found)
    return {
        "square": square(host),
        "threads": threads(host),
        "gpu": gpu(card),
        "gpu_mixed": mixed.table(found),
        "gpu_training": gpu_training(card),
    }


def time(rows):
    """The time of a case."""
    return latex.seconds(middle(rows)) if len(rows) else NONE


def middle(rows):
    """Its seconds, the median over processes of the processes' medians."""
    return claims.middle(study.processes(rows))


def achieved(rows):
    """FLOP/s of a case, or None."""
    return rows["flops"].iloc[0] / middle(rows) if len(rows) else None


def share(rows, ceiling):
    """FLOP/s of a case over a ceiling of its precision."""
    return percent(achieved(rows) / ceiling) if len(rows) and ceiling else NONE


def square(found):
    """Time and share of the ceiling of every variant and form on square products, one thread."""
    rows = []
    for experiment in ("gemm_square", "gemm_large"):
        frame = found.samples(experiment, threads=1)
        for dtype in study.values(frame, "dtype")[::-1]:
            for size in study.values(study.where(frame, dtype=dtype), "m"):
                here = study.where(frame, dtype=dtype, m=size)
                rows += [None] if rows else []
                rows += [of_forms(found, here, variant, dtype) for variant in RUNGS if variant in set(here["variant"])]
    heads = (
        r"&&& \multicolumn{2}{c}{\texttt{nn}} & \multicolumn{2}{c}{\texttt{tn}} & \multicolumn{2}{c}{\texttt{nt}} \\"
    )
    heads += r"\cmidrule(lr){4-5}\cmidrule(lr){6-7}\cmidrule(l){8-9}" + "\nVariant"
    return latex.table("lllrrrrrr", [heads, "Type", "Size", *["time", "of ceiling"] * 3], rows)


def of_forms(found, rows, variant, dtype):
    """The cells of a variant: time and share of every form."""
    one, ceiling = rows.iloc[0], roofs.arithmetic(found, dtype, 1)
    cells = [code(variant), code(dtype), f"${one['m']} \\times {one['n']} \\times {one['k']}$"]
    for form in FORMS:
        case = study.where(rows, variant=variant, form=form)
        cells += [time(case), share(case, ceiling)]
    return cells


def threads(found):
    """The training's products: per form and variant the time on one thread and on the most, and the gain."""
    frame = found.samples("gemm_threads", dtype="float64")
    rows = []
    for form in sorted(study.values(frame, "form"), key=FORMS.index):
        rows += [None] if rows else []
        here = study.one_size(study.where(frame, form=form))
        for variant in (name for name in RUNGS if name in set(here["variant"])):
            cases = study.by_threads(study.where(here, variant=variant))
            one, most = cases.get(1, study.NO_ROWS), max(cases)
            ceiling, gain = roofs.arithmetic(found, "float64", most), ratios.of(one, cases[most])
            cells = [time(one), time(cases[most]), share(cases[most], ceiling), str(most)]
            rows.append([code(form), code(variant), *cells, ratios.latex(gain) if gain and most > 1 else NONE])
    head = ["Form", "Variant", "1 thread", "most", "of ceiling", "threads", "speed-up"]
    return latex.table("llrrrrr", head, rows)


def gpu(found):
    """FLOP/s of every rung and tuning on the large product, and the share of the best of cuBLAS in its precision."""
    rows = []
    for experiment in SQUARE.values():
        frame = found.samples(experiment)
        rows += [None] if rows and len(frame) else []
        for name in (one for one in RUNGS if len(study.where(frame, variant=one))):
            here = study.where(frame, variant=name)
            for tuning in sorted({tuned(case) for case in here["case"]}):
                rows.append(of_tuning(found, here[here["case"].map(tuned) == tuning], name, tuning))
    heads = (
        r"&&& \multicolumn{2}{c}{\texttt{nn}} & \multicolumn{2}{c}{\texttt{tn}} & \multicolumn{2}{c}{\texttt{nt}} \\"
    )
    heads += r"\cmidrule(lr){4-5}\cmidrule(lr){6-7}\cmidrule(l){8-9}" + "\nVariant"
    columns = r"l>{\raggedright}p{0.2\linewidth}lrrrrrr"
    return latex.table(columns, [heads, "Tuning", "Precision", *["TFLOP/s", "of ceiling"] * 3], rows)


def of_tuning(found, rows, name, tuning):
    """The cells of a rung at one tuning: FLOP/s and share of every form."""
    precision = rows["precision"].iloc[0]
    cells, top = [], mixed.ceiling(found, precision)
    for form in FORMS:
        case = study.where(rows, form=form)
        cells += [digits(achieved(case) / 1e12) if len(case) else NONE, share(case, top)]
    return [code(name), latex.escape(tuning.replace(",", ", ")), code(precision), *cells]


def tuned(case):
    """The tuning in a case's slug."""
    return case.partition(",cache=")[2].partition(",")[2]


def gpu_training(found):
    """The time of cuBLAS on the training's products, and how many times as fast the rungs of its precision are."""
    rows = []
    for experiment in TRAINING.values():
        frame = found.samples(experiment)
        for precision in sorted(study.values(frame, "precision"), key=("float64", "float32", "tf32").index):
            typed = study.where(frame, precision=precision)
            rows += [None] if rows else []
            for form in FORMS:
                for flops in sorted(study.values(study.where(typed, form=form), "flops"), reverse=True):
                    rows.append(of_product(study.where(typed, form=form, flops=flops), precision, form))
    heads = ["Precision", "Form", "M & N & K", code("cublas"), *map(code, TRAINED)]
    return latex.table("llrrrrrrrr", heads, rows)


def of_product(rows, precision, form):
    """The cells of a product: those of `cuda_shared` in the blocks of the earlier study, the others have one tuning."""
    base = study.where(rows, variant="cublas")
    cells = []
    for name in TRAINED:
        case = study.where(rows, variant=name, **({"block": 16} if name == "cuda_shared" else {}))
        gain = ratios.of(base, case)
        cells.append(digits(gain.value) if gain else NONE)
    shape = " & ".join(f"\\num{{{rows[name].iloc[0]}}}" for name in "mnk")
    return [code(precision), code(form), shape, time(base), *cells]
