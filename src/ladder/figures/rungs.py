"""What the figures of the rungs share: FLOP/s of each, with its share of the machine's ceiling."""

from ladder.figures import bars, medians, peaks, style

FORMS = ("nn", "tn", "nt")
SHADES = {"nn": 0.0, "tn": 0.35, "nt": 0.65}
SHAPE = ["m", "n", "k", "dtype", "precision", "cache", "threads"]
UNITS = {"host": ("GFLOP/s", 1e9), "cuda": ("TFLOP/s", 1e12)}


def figure(tables, ceilings, what, device="host"):
    """A panel per machine and shape; bars by method and form, the ceiling of as many threads as a line."""
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
    drawn = style.new(0.3 + (max(bars.inches(groups) for _, groups, _ in every) + 0.72) * style.rows_of_bands(counts))
    bands = style.bands(drawn, counts)
    for name, some in found.items():
        for axes, (title, groups, ceiling) in zip(bands[name], some, strict=True):
            bars.grouped(axes, groups, reach=1.03 * ceiling)
            axes.set_title(title)
            axes.set_xlabel(UNITS[device][0])
            if ceiling:
                axes.axvline(ceiling, color=style.DARK, linewidth=0.9, linestyle=(0, (4, 2)))
    style.legend(drawn, [], all(bars.converged(groups) for _, groups, _ in every))
    return drawn


def panel(rows, ceilings, device):
    """The rungs on one shape: (title, groups of bars, ceiling in the device's unit or 0)."""
    row, work = rows.iloc[0], rows.groupby("form")["flops"].first()
    unit, size = UNITS[device]
    ceiling = (peaks.flops(ceilings, row["precision"], row["threads"], device) or 0) / size
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
        title += f"\nceiling: {style.three(ceiling)} {unit} (dashed, 100 %)"
    return title, groups, ceiling


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
