"""Bytes over time of each rung of the matrix-vector product on a GPU, each with its fastest tuning."""

from ladder.report.figures import bars, medians, peaks, style

TITLE = "Bandwidth of matrix-vector products on a GPU"
CATEGORY = "GEMV"
EXPERIMENTS = ("gemv_gpu",)
USES_CEILINGS = True
SHADES = {"float64": 0.0, "float32": 0.55}


def draw(tables, ceilings):
    """A panel per machine and matrix; bars by method and dtype, the rate of reading alone as a line."""
    frame, found = medians.samples(tables["gemv_gpu"]), {}
    for name in medians.machines(tables["gemv_gpu"]):
        reading = peaks.bandwidths(ceilings.get(name, peaks.NONE), ("read",), "cuda").get(1, 0.0) / 1e9
        shapes = medians.problems(frame[frame["machine"] == name], but=("dtype",))
        found[name] = [panel(row, rows, reading) for row, rows in shapes]
    found = {name: some for name, some in found.items() if some}
    if not found:
        return style.empty("matrix-vector products on a GPU")
    return bars.figure(found, "GB/s", 0.72)


def panel(row, rows, reading):
    """The rungs on one matrix: title, groups of bars, and the line of reading alone, all in GB/s."""
    work = rows.groupby("dtype")["bytes"].first() / 1e9
    groups = bars.rates(rows, "dtype", SHADES, work, reading)
    title = medians.vector_product({**row, "dtype": "float64"})
    if reading:
        title += f"\ndashed, 100 %: {style.three(reading)} GB/s"
    return title, groups, [(reading, bars.DASHED)]
