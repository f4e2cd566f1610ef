"""The tables of products of two matrices: on one thread, by threads, and on a card."""

from ladder.report import latex, roofs, study
from ladder.report.cells import NONE, median, speedup, time_and_share
from ladder.report.latex import code, digits, percent
from ladder.workloads.gemm.paper import mixed
from ladder.workloads.gemm.paper.card import DTYPES, SQUARE, on_card
from ladder.workloads.gemm.paper.numbers import FORMS, VARIANTS
from ladder.workloads.gemm.paper.numbers_gpu import RUNGS, exact

TRAINING = {dtype: f"gemm_gpu_training_{dtype}" for dtype in DTYPES}
TRAINED = ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma")


def tables(found):
    """Every table's LaTeX by its name."""
    card = on_card(found)
    return {
        "square": square(found),
        "threads": threads(found),
        "gpu": gpu(card),
        "gpu_mixed": mixed.table(found),
        "gpu_training": gpu_training(card),
    }


def square(found):
    """Time and share of the ceiling of every variant and form on the large product, one thread."""
    frame = found.samples("gemm_square", threads=1)
    rows = []
    for dtype in study.values(frame, "dtype")[::-1]:
        rows += [None] if rows else []
        ceiling = roofs.arithmetic(found, dtype, 1)
        for variant in in_order(study.values(frame, "variant")):
            cells = [code(variant), code(dtype)]
            for form in FORMS:
                here = study.one_size(study.where(frame, dtype=dtype, form=form))
                cells += time_and_share(study.where(here, variant=variant), ceiling)
            rows.append(cells)
    heads = r"&& \multicolumn{2}{c}{\texttt{nn}} & \multicolumn{2}{c}{\texttt{tn}} & \multicolumn{2}{c}{\texttt{nt}} \\"
    heads += r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}\cmidrule(l){7-8}" + "\nVariant"
    return latex.table("llrrrrrr", [heads, "Type", *["time", "of ceiling"] * 3], rows)


def in_order(names):
    """Variants in the order of the ladder, others behind."""
    return sorted(names, key=lambda name: (VARIANTS.index(name) if name in VARIANTS else len(VARIANTS), name))


def threads(found):
    """The training's products: per form and variant the time on one thread and the best, and the gain."""
    frame = found.samples("gemm_threads", dtype="float64")
    rows = []
    for form in sorted(study.values(frame, "form"), key=FORMS.index):
        rows += [None] if rows else []
        here = study.one_size(study.where(frame, form=form))
        for variant in in_order(study.values(here, "variant")):
            cases = study.by_threads(study.where(here, variant=variant))
            best = study.shortest(cases)
            ceiling = roofs.arithmetic(found, "float64", best)
            one = cases.get(1, study.NO_ROWS)
            cells = [
                median(one),
                *time_and_share(cases[best], ceiling),
                str(best),
                speedup(one, cases[best]),
            ]
            rows.append([code(form), code(variant), *cells])
    head = ["Form", "Variant", "1 thread", "best", "of ceiling", "threads", "speed-up"]
    return latex.table("llrrrrr", head, rows)


def gpu(found):
    """FLOP/s and the share of cuBLAS's best of every rung and tuning on the large product."""
    rows = []
    for dtype, experiment in SQUARE.items():
        frame, top = found.samples(experiment), roofs.card_arithmetic(found, dtype)
        rows += [None] if rows and len(frame) else []
        for name in RUNGS:
            here = study.where(frame, variant=name)
            for tuning in sorted({tuned(case) for case in study.values(here, "case")}):
                cells = []
                for form in FORMS:
                    case = study.where(here[here["case"].map(tuned) == tuning], form=form)
                    flops = case["flops"].iloc[0] / case["seconds"].median() if len(case) else None
                    cells += [digits(flops / 1e12) if flops else NONE, percent(flops / top) if flops and top else NONE]
                precision = here[here["case"].map(tuned) == tuning]["precision"].iloc[0]
                rows.append([code(name), latex.escape(tuning.replace(",", ", ")), code(precision), *cells])
    heads = (
        r"&&& \multicolumn{2}{c}{\texttt{nn}} & \multicolumn{2}{c}{\texttt{tn}} & \multicolumn{2}{c}{\texttt{nt}} \\"
    )
    heads += r"\cmidrule(lr){4-5}\cmidrule(lr){6-7}\cmidrule(l){8-9}" + "\nVariant"
    columns = r"l>{\raggedright}p{0.2\linewidth}lrrrrrr"
    return latex.table(columns, [heads, "Tuning", "Precision", *["TFLOP/s", "of ceiling"] * 3], rows)


def tuned(case):
    """The tuning in a case's slug."""
    return case.partition(",cache=")[2].partition(",")[2]


def gpu_training(found):
    """The speed of every rung's fastest tuning on the training's products, as a multiple of cuBLAS's."""
    rows = []
    for dtype, experiment in TRAINING.items():
        typed = found.samples(experiment)
        rows += [None] if rows and len(typed) else []
        for form in FORMS:
            for flops in sorted(study.values(study.where(typed, form=form), "flops"), reverse=True):
                here = study.where(typed, form=form, flops=flops)
                base = study.fastest(exact(study.where(here, variant="cublas"), "cublas"))
                cells = [speedup(base, study.fastest(study.where(here, variant=name))) for name in TRAINED]
                shape = " & ".join(f"\\num{{{here[name].iloc[0]}}}" for name in "mnk")
                rows.append([code(dtype), code(form), shape, median(base), *cells])
    heads = ["Type", "Form", "M & N & K", code("cublas"), *map(code, TRAINED)]
    return latex.table("llrrrrrrrr", heads, rows)
