"""The paper's tables as LaTeX, and the table of validation for the report as HTML.

Each function takes a `ladder.study.Study` and returns a tabular, or a sentence where there is nothing to show.
"""

import itertools

import pandas as pd

from ladder.report import latex, numbers, study
from ladder.report.latex import code, digits, escape, listed, percent, seconds, seconds_between
from ladder.statistics import intervals, verdicts

NONE = "--"
CASE = ["workload", "variant", "case"]
# The columns that name a case, in the order in which they are read.
NAMING = (
    "variant",
    "product",
    "kernel",
    "form",
    "dtype",
    "ranks",
    "threads",
    "binding",
    "mode",
    "chunks",
    "cache",
    "batch",
    "m",
    "n",
    "k",
    "images",
    "epochs",
)


def all_tables(found):
    """Every table's LaTeX by its file's name."""
    return {
        "machines": machines(found),
        "software": software(found),
        "ceilings": ceilings(found),
        "plan": plan(found),
        "validation": latex_validation(found),
        "gemm_square": gemm_square(found),
        "gemm_threads": gemm_threads(found),
        "mlp_threads": mlp_threads(found),
        "mlp_peers": mlp_peers(found),
        "compared": compared(found),
    }


def machines(found):
    """What the machines are."""
    head = ["Machine", "CPU", "Cores", "Memory", "L2", "L3", "Vectors"]
    rows = []
    for name, about in described(found):
        cpu = about["cpu"]
        caches = [escape(cpu.get(f"{level} cache", NONE).split(" (")[0]) for level in ("L2", "L3")]
        vectors = escape(cpu["Vector units"])
        rows.append(
            [
                code(name),
                escape(cpu["Model name"]),
                str(about["cores"]),
                latex.memory(about["memory"]),
                *caches,
                vectors,
            ]
        )
    return latex.table(r">{\raggedright}p{0.24\linewidth}>{\raggedright}p{0.2\linewidth}rrrrl", head, rows)


def software(found):
    """What ran on them."""
    libraries = ["numpy", "scipy", "numba", "llvmlite", "torch"]
    rows = [
        [code(name), escape(about["system"].split("-")[0]), escape(about["python"])]
        + [escape(about["libraries"].get(library, NONE)) for library in libraries]
        for name, about in described(found)
    ]
    head = ["Machine", "System", "Python", "NumPy", "SciPy", "Numba", "llvmlite", "PyTorch"]
    return latex.table(r">{\raggedright}p{0.24\linewidth}lllllll", head, rows)


def described(found):
    """The machines with measurements, and their descriptions."""
    return [(name, found.descriptions[name]) for name in found.machines() if name in found.descriptions]


def ceilings(found):
    """The measured ceilings of every machine: arithmetic on one thread and at best, streams at best."""
    rows = []
    for name in found.machines():
        machine = found.of(name)
        products = [machine.samples("ceiling_arithmetic", dtype=dtype) for dtype in numbers.DTYPES]
        streams = [machine.samples("ceiling_bandwidth", kernel=kernel) for kernel in numbers.KERNELS]
        rates = [giga(rows, "flops") for frame in products for rows in (study.where(frame, threads=1), frame)]
        rates += [giga(frame, "bytes") for frame in streams]
        if any(rate != NONE for rate in rates):
            rows.append([code(name), *rates])
    one, best = r"1 thread", "best"
    head = ["", one, best, one, best, *numbers.KERNELS]
    groups = (
        r"& \multicolumn{2}{c}{float64, GFLOP/s} & \multicolumn{2}{c}{float32, GFLOP/s} & \multicolumn{3}{c}{GB/s} \\"
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}\cmidrule(l){6-8}"
    )
    head[0] = groups + "\nMachine"
    return latex.table(r">{\raggedright}p{0.26\linewidth}rrrrrrr", head, rows)


def giga(frame, work):
    """The best rate in units of 10^9 a second."""
    rate = study.best_rate(frame, work)
    return digits(rate / 1e9) if rate else NONE


def plan(found):
    """How many cases were measured and which were not, and why: the subject's by experiment, other machines' in all."""
    rows = []
    for experiment in found.tables:
        ran, absent = found.rows("samples", experiment), found.rows("missing", experiment)
        if len(ran) or len(absent):
            counts = [str(numbers.distinct(frame, CASE)) for frame in (ran, absent)]
            rows.append([code(experiment), *counts, reasons(absent, ran.empty)])
    for name in found.machines():
        if name != found.subject:
            frames = (study.where(found.everything(table), machine=name) for table in ("samples", "missing"))
            rows += [
                None,
                [code(name), *(str(numbers.distinct(frame, CASE)) for frame in frames), "another machine, in all"],
            ]
    columns = r">{\raggedright}p{0.2\linewidth}rr>{\raggedright\arraybackslash}p{0.55\linewidth}"
    return latex.table(columns, ["Experiment", "Measured", "Not", "Which not, and why"], rows)


def reasons(absent, is_all):
    """The cases without a record, grouped by why; where that `is_all` of them for one reason, their variants."""
    if absent.empty:
        return NONE
    if is_all and absent["why"].nunique() == 1:
        return f"{escape(absent['why'].iloc[0])}: every case of {listed(map(code, absent['variant'].unique()))}"
    why = absent["why"].str.replace(
        r"needs \d+ cores, (\d+) to be had", r"more threads or ranks than the \1 cores to be had", regex=True
    )
    parts = []
    for reason, rows in absent.groupby(why, sort=False):
        names = rows.drop_duplicates(CASE)
        columns = naming_columns(names)
        cases = [tuple(row) for row in names[columns].astype(object).where(names[columns].notna(), None).to_numpy()]
        parts.append(f"{escape(reason)}: {'; '.join(grouped(columns, cases))}")
    return ". ".join(parts)


def naming_columns(rows):
    """The fewest columns, in the order of NAMING, that tell the rows' cases apart; variant and threads always."""
    columns = []
    for column in [name for name in NAMING if name in rows]:
        told_apart = columns and not rows.duplicated(columns).any()
        if column in ("variant", "threads") or (rows[column].nunique(dropna=False) > 1 and not told_apart):
            columns.append(column)
    return columns


def grouped(columns, cases):
    """Cases in as few words as products of values allow: `openmp, blas, threads 4, 6`."""
    choices = [list(dict.fromkeys(case[index] for case in cases)) for index in range(len(columns))]
    if len(set(cases)) == len(list(itertools.product(*choices))):
        return [
            " ".join(
                worded(column, values) for column, values in zip(columns, choices, strict=True) if values != [None]
            )
        ]
    index = next(index for index, values in enumerate(choices) if len(values) > 1)
    parts = []
    for value in choices[index]:
        parts += grouped(columns, [case for case in cases if case[index] == value])
    return parts


def worded(column, values):
    """One column's values, with the column's name where the values don't speak for themselves."""
    values = ", ".join(code(value) for value in values if value is not None)
    return (
        values
        if column in ("variant", "product", "kernel", "form", "dtype", "binding", "mode")
        else f"{escape(column)} {values}"
    )


def validation(found):
    """Per workload, variant, product and dtype, the comparison that came nearest to its bound: a frame."""
    checks = found.everything("checks")
    if checks.empty:
        return checks
    product = checks["product"] if "product" in checks else pd.Series(None, index=checks.index, dtype=object)
    checks = checks.assign(
        product=product.fillna(""), used=checks["error"] / checks["bound"].where(checks["bound"] > 0, float("nan"))
    ).fillna({"used": 0.0})
    checks = checks.drop_duplicates(["machine", *CASE, "process", "check"])
    rows = []
    for (workload, variant, product, dtype), part in checks.groupby(["workload", "variant", "product", "dtype"]):
        worst = part.loc[part["used"] == part["used"].max()].iloc[0]
        row = {"workload": workload, "variant": f"{variant}, {product}" if product else variant, "dtype": dtype}
        row |= {"cases": numbers.distinct(part, CASE), "comparisons": len(part), "check": worst["check"]}
        row |= {"error": worst["error"], "bound": worst["bound"]}
        rows.append(row | {"margin": worst["bound"] / worst["error"] if worst["error"] else float("inf")})
    return pd.DataFrame(rows)


def latex_validation(found):
    """The table of `validation`."""
    frame, rows = validation(found), []
    for _, part in frame.groupby("workload") if len(frame) else ():
        rows += [None] if rows else []
        rows += [
            [
                *(code(one[name]) for name in ("workload", "variant", "dtype")),
                *(str(one[name]) for name in ("cases", "comparisons")),
                escape(one["check"]),
                *(latex.number(one[name]) for name in ("error", "bound")),
                "exact" if one["error"] == 0 else latex.number(one["margin"]),
            ]
            for one in part.to_dict("records")
        ]
    head = ["Workload", "Variant", "Type", "Cases", "Checks", "Nearest", "Error", "Bound", "Margin"]
    return latex.long_table("lllrrlrrr", head, rows)


def html_validation(found):
    """The table of `validation` as a page of the report."""
    frame = validation(found)
    shown = frame.to_html(index=False, float_format="%.3g", border=0, justify="left", na_rep="")
    style = "body{font-family:sans-serif} td,th{padding:.2em .8em;text-align:left} tr:nth-child(even){background:#eee}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Validation</title><style>{style}</style>'
        + (f"</head><body>\n{shown}\n</body></html>\n")
    )


def gemm_square(found):
    """Time and share of the ceiling of every variant and form on the large product, one thread."""
    frame = found.samples("gemm_square", threads=1)
    rows = []
    for dtype in study.values(frame, "dtype")[::-1]:
        rows += [None] if rows else []
        ceiling = study.ceiling(found, dtype, 1)
        for variant in in_order(study.values(frame, "variant")):
            cells = [code(variant), code(dtype)]
            for form in numbers.FORMS:
                here = study.one_size(study.where(frame, dtype=dtype, form=form))
                cells += time_and_share(study.where(here, variant=variant), ceiling)
            rows.append(cells)
    heads = r"&& \multicolumn{2}{c}{\texttt{nn}} & \multicolumn{2}{c}{\texttt{tn}} & \multicolumn{2}{c}{\texttt{nt}} \\"
    heads += r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}\cmidrule(l){7-8}" + "\nVariant"
    return latex.table("llrrrrrr", [heads, "Type", *["time", "of ceiling"] * 3], rows)


def time_and_share(frame, ceiling):
    """Median time, and FLOP/s at it over the ceiling."""
    if frame.empty:
        return [NONE, NONE]
    median = frame["seconds"].median()
    return [seconds(median), percent(frame["flops"].iloc[0] / median / ceiling) if ceiling else NONE]


def in_order(names):
    """Variants in the order of the ladder, others behind."""
    order = [*numbers.GEMM, "numpy_loop", "pytorch"]
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def gemm_threads(found):
    """The training's products: per form and variant the time on one thread and the best, and the gain."""
    frame = found.samples("gemm_threads", dtype="float64")
    rows = []
    for form in sorted(study.values(frame, "form"), key=numbers.FORMS.index):
        rows += [None] if rows else []
        here = study.one_size(study.where(frame, form=form))
        for variant in in_order(study.values(here, "variant")):
            cases = numbers.by_threads(study.where(here, variant=variant))
            best = numbers.fastest(cases)
            ceiling = study.ceiling(found, "float64", best)
            one = cases.get(1, numbers.NO_ROWS)
            cells = [
                time_and_share(one, None)[0],
                *time_and_share(cases[best], ceiling),
                str(best),
                over(one, cases[best]),
            ]
            rows.append([code(form), code(variant), *cells])
    head = ["Form", "Variant", "1 thread", "best", "of ceiling", "threads", "speed-up"]
    return latex.table("llrrrrr", head, rows)


def mlp_threads(found):
    """The training by product and threads."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64", device="host"))
    base = study.where(frame, product="openmp", threads=1)
    rows = []
    for product in in_order(study.values(frame, "product")):
        rows += [None] if rows else []
        cases = numbers.by_threads(study.where(frame, product=product))
        for threads, here in cases.items():
            shares = numbers.operations(found, product, threads)
            products = percent(shares["products"].median()) if len(shares) else NONE
            cells = [*timed(found, here, threads), over(cases.get(1, here.iloc[:0]), here), over(base, here), products]
            rows.append([code(product), str(threads), *cells])
    head = [
        "Product",
        "Threads",
        "Time",
        r"\qty{95}{\percent} interval",
        "of ceiling",
        "over own",
        "over base",
        "products",
    ]
    return latex.table("lrrrrrrr", head, rows)


def timed(found, frame, threads):
    """Median, its interval, and the share of the ceiling of so many threads."""
    summary = intervals.summary(study.processes(frame))
    interval = seconds_between(summary.low, summary.high) if summary.processes > 1 else NONE
    median, share = time_and_share(frame, study.ceiling(found, "float64", threads))
    return [median, interval, share]


def over(base, frame):
    """The speed-up against a base."""
    if base.empty:
        return NONE
    return digits(verdicts.speedup(study.processes(base), study.processes(frame))[0])


def mlp_peers(found):
    """The training against its peers, by batch and threads."""
    frame = found.samples("mlp_peers", dtype="float64")
    rows = []
    for batch in study.values(frame, "batch"):
        rows += [None] if rows else []
        here = study.one_size(study.where(frame, batch=batch))
        for name, chosen in numbers.PEERS.items():
            for threads, case in numbers.by_threads(study.where(here, **chosen)).items():
                rows.append([str(batch), code(name), str(threads), *timed(found, case, threads)])
    head = ["Batch", "Training", "Threads", "Time", r"\qty{95}{\percent} interval", "of ceiling"]
    return latex.table("rlrrrr", head, rows)


def compared(found):
    """The machines side by side: the rungs on the large product, and the best training of two of them."""
    rows = []
    for name in found.machines():
        machine = found.of(name)
        square = study.one_size(machine.samples("gemm_square", threads=1, dtype="float64", form="nn"))
        rates = []
        for variant in numbers.RUNGS:
            case = study.where(square, variant=variant)
            rates.append(digits(case["flops"].iloc[0] / case["seconds"].median() / 1e9) if len(case) else NONE)
        trainings = study.one_size(machine.samples("mlp_threads", dtype="float64", device="host"))
        for product in ("openmp", "blas"):
            counts = numbers.by_threads(study.where(trainings, product=product))
            best = numbers.fastest(counts) if counts else None
            rates.append(f"{seconds(counts[best]['seconds'].median())} ({best})" if best else NONE)
        if any(rate != NONE for rate in rates):
            size = numbers.shape(square) or NONE
            rows.append([code(name), size, *rates])
    head = [r"&& \multicolumn{4}{c}{product, GFLOP/s} & \multicolumn{2}{c}{training, best time (threads)} \\"]
    head[0] += r"\cmidrule(lr){3-6}\cmidrule(l){7-8}" + "\nMachine"
    head += ["Size", *map(code, numbers.RUNGS), code("openmp"), code("blas")]
    return latex.table(r">{\raggedright}p{0.19\linewidth}lrrrrrr", head, rows)
