"""Roofline of each machine from its measured ceilings, with matrix-matrix and matrix-vector products as points."""

import pandas as pd

from ladder.report.figures import layout, medians, methods, roofline

TITLE = "Roofline from measured ceilings"
CATEGORY = "Machine"
CAPTION = """\
Matrix-matrix and matrix-vector products under the measured ceilings of each machine. The roofs are the best products
and the best streams on one thread and on the most threads. The points are median rates with 95 % intervals, each
variant on its fastest number of threads. The square product was measured on one thread. A GPU has its own panel, with
the rates of cuBLAS and of fused multiply-adds without tensor cores. The intensity counts each operand once.
"""
EXPERIMENTS = "gemm_square", "gemm_threads", "gemv_threads", "gemm_gpu_float64", "gemm_gpu_training_float64", "gemv_gpu"
USES_CEILINGS = True
DTYPE = "float64"
EXPERIMENTS_BY_DEVICE = {"host": EXPERIMENTS[:3], "cuda": EXPERIMENTS[3:]}  # in the order of PROBLEMS
PROBLEMS = ("square product", "training's products", "matrix-vector")


def draw(study):
    """A panel per machine with ceilings and one per GPU: its roofs, and the products of every method under them."""
    panels, tables = {}, study.study.tables
    for name in study.study.machines():
        machine = study.study.for_machine(name)
        for device, roofs in roofline.roofs_by_device(machine, DTYPE).items():
            pairs = zip(EXPERIMENTS_BY_DEVICE[device], PROBLEMS, strict=True)
            points = pd.concat([fastest_cases(tables[key], name).assign(group=problem) for key, problem in pairs])
            if roofs and len(points):
                panels[name if device == "host" else f"{name}, GPU"] = [(DTYPE, roofs, points)]
    if not panels:
        return layout.empty("ceilings")
    figure, _ = layout.panels(panels, roofline.fill, 2.5, 0.3, max_columns=2)
    all_points = pd.concat([points for [(*_, points)] in panels.values()])
    handles = [layout.method_handle(method, with_line=False) for method in methods.sort_methods(all_points["method"])]
    layout.legend(figure, handles, all_points["converged"].all(), at_right=len(panels) == 1)
    return figure


def fastest_cases(tables, machine):
    """A row per method and problem, on its fastest number of threads: GFLOP/s, and FLOP/byte with infinite caches."""
    frame = medians.samples(tables)
    rows = [pd.DataFrame(columns=[*medians.SUMMARY, "method", "intensity"])]
    for first, problem in medians.problems(frame[frame["machine"] == machine]):
        if first["dtype"] == DTYPE:
            cases = medians.summaries(problem).sort_values("median").drop_duplicates("method")
            points = medians.rates(cases, first["flops"] / 1e9)
            rows.append(points.assign(intensity=first["flops"] / first["bytes"]))
    return pd.concat(rows[1:] or rows)
