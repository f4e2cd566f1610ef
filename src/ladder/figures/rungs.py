"""What the figures of the rungs share: FLOP/s of each, with its share of the machine's ceiling."""

from matplotlib.lines import Line2D

from ladder.figures import bars, medians, peaks, style

FORMS = ("nn", "tn", "nt")
SHADES = {"nn": 0.0, "tn": 0.35, "nt": 0.65}
SHAPE = ["m", "n", "k", "dtype", "precision", "cache", "threads"]
DASHED = {"color": style.DARK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
DOTTED = DASHED | {"linestyle": (0, (1, 1.5))}
ORDINARY = "what fused multiply-adds reach without tensor cores"
UNITS = {"host": ("GFLOP/s", 1e9), "cuda": ("TFLOP/s", 1e12)}


def figure(tables, ceilings, what, device="host"):
    """A panel per machine and shape; bars by method and form, the ceiling of as many threads as a line.

    On a GPU a second line is what multiply-adds reach without tensor cores.
    """
    frame = medians.samples(tables)
    if not len(frame):
        return style.empty(what)
    found = {}
    for name in medians.machines(tables):
        shapes = frame[frame["machine"] == name].groupby(SHAPE, sort=False)
        found[name] = [panel(rows, ceilings.get(name, peaks.NONE), device) for _, rows in shapes]
    found = {name: some for name, some in found.items() if some}
    counts = {name: len(some) for name, some in found.items()}
    every = [one for some in found.values() for one in some]
    tallest = max(bars.inches(groups) for _, groups, _, _ in every)
    drawn = style.new(0.3 + (tallest + 0.72) * style.rows_of_bands(counts))
    bands = style.bands(drawn, counts)
    for name, some in found.items():
        for axes, (title, groups, ceiling, ordinary) in zip(bands[name], some, strict=True):
            bars.grouped(axes, groups, reach=1.03 * max(ceiling, ordinary))
            axes.set_title(title)
            axes.set_xlabel(UNITS[device][0])
            for line, look in ((ceiling, DASHED), (ordinary, DOTTED)):
                if line:
                    axes.axvline(line, **look)
    dotted = [Line2D([], [], **DOTTED, label=ORDINARY)] if any(ordinary for *_, ordinary in every) else []
    style.legend(drawn, dotted, all(bars.converged(groups) for _, groups, _, _ in every))
    return drawn


def panel(rows, ceilings, device):
    """The rungs on one shape: (title, groups of bars, ceiling and multiply-adds' rate in the device's unit or 0)."""
    row, work = rows.iloc[0], rows.groupby("form")["flops"].first()
    unit, size = UNITS[device]
    ceiling = (peaks.flops(ceilings, row["precision"], row["threads"], device) or 0) / size
    ordinary = (peaks.multiply_adds(ceilings, row["precision"], device) or 0) / size
    found = medians.summaries(rows, ("method", "form", "case")).sort_values("median")
    found = found.drop_duplicates(["method", "form"]).set_index(["method", "form"])  # the fastest tuning
    groups = []
    for method in style.ordered(rows["method"]):
        forms = [form for form in FORMS if (method, form) in found.index]
        groups.append((method, [bar(form, found.loc[(method, form)], work[form] / size, ceiling) for form in forms]))
    title = medians.product({**row, "dtype": row["precision"]}, form=False)
    if device == "host":
        title += f", {style.threads(row['threads'])}"
    if ceiling:
        title += f"\ndashed, 100 %: {style.three(ceiling)} {unit}"
    return title, groups, ceiling, ordinary


def bar(form, found, work, ceiling):
    """A case as a bar of its rate."""
    rate = work / found["median"]
    return {
        "name": form,
        "value": rate,
        "low": work / found["high"],
        "high": work / max(found["low"], 1 / style.FAR),
        "converged": found["converged"],
        "shade": SHADES[form],
        "text": f"{style.three(rate)} ({style.percent(rate / ceiling)})" if ceiling else style.three(rate),
    }
