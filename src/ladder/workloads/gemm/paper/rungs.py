"""What the figures of the rungs share: FLOP/s of each, with its share of the machine's ceiling."""

from matplotlib.lines import Line2D

from ladder.report.figures import bars, formats, layout, medians, peaks
from ladder.workloads.fma.paper.ceilings import multiply_adds
from ladder.workloads.gemm.paper import ceilings, problem

SHADES = {"nn": 0.0, "tn": 0.35, "nt": 0.65}
SHAPE = ["m", "n", "k", "dtype", "precision", "cache", "threads"]
ORDINARY = "what fused multiply-adds reach without tensor cores"
UNITS = {"host": ("GFLOP/s", 1e9), "cuda": ("TFLOP/s", 1e12)}


def figure(tables, known, what, device="host"):
    """A panel per machine and shape; bars by method and form, the ceiling of as many threads as a line.

    On a GPU a second line is what multiply-adds reach without tensor cores.
    """
    frame = medians.samples(tables)
    if not len(frame):
        return layout.empty(what)
    found = {}
    for name in medians.machines(tables):
        shapes = frame[frame["machine"] == name].groupby(SHAPE, sort=False)
        found[name] = [panel(rows, known.get(name, peaks.NONE), device) for _, rows in shapes]
    found = {name: some for name, some in found.items() if some}
    has_dotted = any(ordinary for some in found.values() for *_, (_, (ordinary, _)) in some)
    dotted = [Line2D([], [], **bars.DOTTED, label=ORDINARY)] if has_dotted else []
    return bars.figure(found, UNITS[device][0], 0.72, dotted)


def panel(rows, known, device):
    """The rungs on one shape: title, groups of bars, and the lines of the ceiling and of multiply-adds."""
    row, work = rows.iloc[0], rows.groupby("form")["flops"].first()
    unit, size = UNITS[device]
    ceiling = (ceilings.products(known, row["precision"], row["threads"], device) or 0) / size
    ordinary = (multiply_adds(known, row["precision"], device) or 0) / size
    groups = bars.rates(rows, "form", SHADES, work / size, ceiling)
    title = problem.title({**row, "dtype": row["precision"]}, form=False)
    if device == "host":
        title += f", {formats.threads(row['threads'])}"
    if ceiling:
        title += f"\ndashed, 100 %: {formats.three(ceiling)} {unit}"
    return title, groups, [(ceiling, bars.DASHED), (ordinary, bars.DOTTED)]
