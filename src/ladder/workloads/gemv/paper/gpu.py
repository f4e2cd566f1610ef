"""Bytes over time of each rung of the matrix-vector product on a GPU, each with its fastest tuning."""

from ladder.report.figures import bars, formats, layout, medians, peaks
from ladder.workloads.gemv.paper import problem
from ladder.workloads.stream.paper.ceilings import bandwidths

TITLE = "Bandwidth of matrix-vector products on a GPU"
CATEGORY = "GEMV"
CAPTION = """\
Bytes that a matrix-vector product must move, every array once, over its time on one GPU, each rung with its fastest
tuning, and in brackets the share of the best at which the card only reads long arrays (dashed). The transposition
before `CUDA transposed` is not in its time. Medians with 95 % intervals; a hollow bar is a case whose interval stayed
wider than the target.
"""
EXPERIMENTS = ("gemv_gpu",)
USES_CEILINGS = True
SHADES = {"float64": 0.0, "float32": 0.55}


def draw(tables, ceilings):
    """A panel per machine and matrix; bars by method and dtype, the rate of reading alone as a line."""
    frame, found = medians.samples(tables["gemv_gpu"]), {}
    for name in medians.machines(tables["gemv_gpu"]):
        reading = bandwidths(ceilings.get(name, peaks.NONE), "cuda").get(1, 0.0) / 1e9
        shapes = medians.problems(frame[frame["machine"] == name], but=("dtype",))
        found[name] = [panel(row, rows, reading) for row, rows in shapes]
    found = {name: some for name, some in found.items() if some}
    if not found:
        return layout.empty("matrix-vector products on a GPU")
    return bars.figure(found, "GB/s", 0.72)


def panel(row, rows, reading):
    """The rungs on one matrix: title, groups of bars, and the line of reading alone, all in GB/s."""
    work = rows.groupby("dtype")["bytes"].first() / 1e9
    groups = bars.rates(rows, "dtype", SHADES, work, reading)
    title = problem.title({**row, "dtype": "float64"})
    if reading:
        title += f"\ndashed, 100 %: {formats.three(reading)} GB/s"
    return title, groups, [(reading, bars.DASHED)]
