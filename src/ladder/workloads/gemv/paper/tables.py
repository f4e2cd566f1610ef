"""The tables of the supplement: the earlier study's last graph, when sending a matrix once pays, every case."""

import math
from functools import partial

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE, median
from ladder.report.latex import code, digits, percent, seconds
from ladder.report.telling import amortisation
from ladder.report.telling.chapter_study import phases_over_call
from ladder.report.telling.ladder import insert_rules
from ladder.report.telling.lines import LATEX_TIMES, parallelism, select
from ladder.store import collect
from ladder.store.study import median_time, phase_times, where
from ladder.workloads.gemv.paper.claims import COMPUTE
from ladder.workloads.gemv.paper.lines import DTYPE, GPU_EXPERIMENTS, PHASES, per_unit

# (key of a line, key of SOURCES) of what the study's last graph compares, with the matrix sent, and of NCCL.
SENT_LINES = tuple((key, "ranks, all sizes") for key in ("ship", "hybrid-ship"))
SENT_LINES += tuple((key, "GPUs, all sizes") for key in ("mpi-ship", "nccl-ship"))
ANSWERS = "{}", "at once", "never", "undecided"  # cells of `break_even`; {} is the number of products
CASE_ORDER = ("variant", "mode", "ranks", "threads", "case")


def cases_by_matrix(rows):
    """[((n, m), cases)] of rows, from the smallest matrix to the largest; cases by CASE_ORDER."""
    matrices = {}
    for _, case in rows.groupby([name for name in CASE_ORDER if name in rows], dropna=False) if len(rows) else ():
        matrices.setdefault((case["n"].iloc[0], case["m"].iloc[0]), []).append(case)
    return sorted(matrices.items(), key=lambda matrix: (math.prod(matrix[0]), matrix[0]))


def rows_by_matrix(rows, row):
    """`row(case)` for every case, with rules between matrices."""
    return insert_rules([[row(case) for case in matrix_cases] for _, matrix_cases in cases_by_matrix(rows)])


def codes(rows, *columns):
    """The values of columns as code, for those columns that a case has."""
    return [code(rows[name].iloc[0]) for name in columns if isinstance(rows.iloc[0].get(name), str)]


def rate_cells(study, machine, rows):
    """A case's time, its rate in GB/s, and the share of the predicted rate."""
    if rows.empty:
        return [NONE] * 3
    predicted, time = study.model.predict(machine, rows.iloc[0]), median_time(rows.assign(seconds=per_unit(rows)))
    rate = rows["bytes"].iloc[0] / median_time(rows)
    return [median(rows), digits(rate / 1e9), percent(predicted / time) if predicted else NONE]


def phase_cells(study, machine, rows):
    """A case's time, the times of its phases, with those outside the call, and the call's phases over its time."""
    times = phase_times(study.phases_of(machine, rows, outside=None))
    quotient = phases_over_call(rows, study.phases_of(machine, rows))
    cells = (seconds(times[name]) if name in times else NONE for name in PHASES)
    return [median(rows), *cells, digits(quotient, 2) if quotient else NONE]


def sizes(study):
    """Products at every size with the matrix sent, on CPUs and on GPUs, computation and communication apart."""
    groups = []
    for (n, m), _ in cases_by_matrix(study.frame("ranks, all sizes")):
        groups.append([])
        for key, source in SENT_LINES:
            selection = select(key, source, n=n, m=m)
            rows, phases = study.find(selection), study.phases(selection)
            if len(phases):
                times, quotient = phase_times(phases), phases_over_call(rows, phases)
                cells = [seconds(times.pop(COMPUTE)), seconds(sum(times.values())), digits(quotient, 2)]
                labels = [f"${n} \\times {m}$", code(rows["variant"].iloc[0]), parallelism(rows.iloc[0], LATEX_TIMES)]
                groups[-1].append([*labels, median(rows), *cells])
    head = ["Matrix", "Variant", "Where", "Time", COMPUTE, "communicate", "sum"]
    return latex.table("rllrrrr", head, insert_rules(groups))


def break_even(study):
    """The number of products after which sending a matrix once pays, by matrix."""
    rows = []
    for (n, m), _ in cases_by_matrix(study.frame("ranks, all sizes")):
        ranks, threads = (select(key, "ranks, all sizes", n=n, m=m) for key in ("resident", "openmp"))
        single, graph = ranks.with_tuning(ranks=1), select("graph", "GPUs, all sizes", n=n, m=m)
        pairs = (ranks, single), (ranks, threads), (graph, threads)
        points = (amortisation.calls_to_break_even(study, *pair) for pair in pairs)
        rows.append([f"${n} \\times {m}$", *(amortisation.answer_text(point, *ANSWERS) or NONE for point in points)])
    return latex.table("rrrr", ["Matrix", "ranks, one rank", "ranks, all threads", "GPUs, all threads"], rows)


def threads(study):
    """Every case on threads: its time and rate."""

    def row(case):
        name, count = ", ".join(codes(case, "variant", "binding", "schedule")), case["threads"].iloc[0]
        return [name, f"{count:.0f}", *rate_cells(study, study.machine("host"), case)]

    head = ["Variant", "Threads", "Time", "GB/s", "of the bandwidth"]
    return latex.table("lrrrr", head, rows_by_matrix(study.frame("threads"), row))


def ranks(study):
    """Every case on ranks of the host, by matrix: its time, its phases, and the imbalance of the computation."""
    machine = study.machine("host")

    def row(case):
        compute = where(study.phases_of(machine, case), phase=COMPUTE)
        has_imbalance = "imbalance" in compute and len(compute)
        imbalance = digits(compute["imbalance"].median()) if has_imbalance else NONE
        labels = [str(case["n"].iloc[0]), *codes(case, "mode", "variant"), parallelism(case.iloc[0], LATEX_TIMES)]
        return [*labels, *phase_cells(study, machine, case), imbalance]

    head = ["$n$", "Mode", "Variant", "Where", "Time", *PHASES, "sum", "imbalance"]
    frame = where(study.frame("ranks, all sizes"), device="mpi")
    return latex.long_table("rllrrrrrrrr", head, rows_by_matrix(frame, row))


def gpu(study):
    """Every case on one GPU, by matrix and type, with its block if it has one."""
    machine, groups = study.machine("gpu"), []
    rows = machine.samples("gemv_gpu")
    for (n, m), float64_cases in reversed(cases_by_matrix(where(rows, dtype=DTYPE))):
        groups.append([])
        for case in float64_cases:
            first = case.iloc[0]
            tuning = {name: first[name] for name in ("block", "tile") if pd.notna(first.get(name))}
            float32_case = where(rows, n=n, m=m, dtype="float32", variant=first["variant"], **tuning)
            label = code(first["variant"]) + (f", {tuning['block']:.0f}" if "block" in tuning else "")
            cells = [cell for dtype_case in (case, float32_case) for cell in rate_cells(study, machine, dtype_case)]
            groups[-1].append([f"${n} \\times {m}$", label, *cells])
    heads = ["time", "GB/s", "share"]
    head = latex.group_head(["Matrix", "Variant, block"], {"float64": heads, "float32": heads})
    return latex.table("rlrrrrrr", head, insert_rules(groups))


def gpus(study):
    """Every case on GPUs below its machine's name, for the chapter's machine and that with the most GPUs."""
    head, groups = ["$n$", "Mode", "Variant", "Pieces", "GPUs", "Time", *PHASES, "sum"], []

    def row(machine, case):
        first = case.iloc[0]
        chunks = f"{first['chunks']:.0f}" + (", graph" if first.get("graph") == "on" else "")
        labels = [str(first["n"]), *codes(case, "mode", "variant"), chunks, f"{first['ranks']:.0f}"]
        return [*labels, *phase_cells(study, machine, case)]

    machines = {study.machine(role).machine_name: study.machine(role) for role in ("gpus", "widest")}
    for name, machine in machines.items():
        if name:
            frame = collect.concatenate([machine.samples(experiment, dtype=DTYPE) for experiment in GPU_EXPERIMENTS])
            title = [rf"\multicolumn{{{len(head)}}}{{l}}{{{code(name)}}}"]
            groups.append([title, None, *rows_by_matrix(frame, partial(row, machine))])
    return latex.long_table("rllrrrrrrrr", head, insert_rules(groups))
