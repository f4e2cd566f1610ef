"""Time of an epoch of the training beside the same training in other software."""

from ladder.report.figures import bars, medians, style

TITLE = "The training against its peers"
CATEGORY = "MLP"
EXPERIMENTS = ("mlp_peers",)
SHADES = (0.0, 0.45, 0.65, 0.8)


def draw(tables):
    """A panel per machine and training; bars by method and number of threads, the reason where one is missing."""
    tables = tables["mlp_peers"]
    missing = medians.named(tables["missing"]) if len(tables["missing"]) else None
    found = {
        name: [(medians.training(row), groups(rows, missing), ()) for row, rows in problems]
        for name, problems in medians.by_machine(medians.samples(tables), medians.machines(tables)).items()
    }
    if not found:
        return style.empty("trainings beside their peers")
    return bars.figure(found, "time of an epoch (ms)", 0.95)


def groups(rows, missing):
    """A training's bars by method; a method without any has its reason from the missing cases."""
    found = medians.summaries(rows)
    shown = [
        (method, [bar(count, row) for count, (_, row) in enumerate(found[found["method"] == method].iterrows())])
        for method in style.ordered(found["method"])
    ]
    if missing is None:
        return shown
    first = rows.iloc[0]
    here = missing[(missing["machine"] == first["machine"]) & (missing["batch"] == first["batch"])]
    reasons = here[~here["method"].isin(found["method"])].groupby("method")["why"].first()
    return shown + [(method, [{"name": "", "value": None, "text": why}]) for method, why in reasons.items()]


def bar(count, found):
    """A case as a bar of milliseconds."""
    return {
        "name": style.threads(found["threads"]),
        "value": 1e3 * found["median"],
        "low": 1e3 * found["low"],
        "high": 1e3 * found["high"],
        "converged": found["converged"],
        "shade": SHADES[min(count, len(SHADES) - 1)],
        "text": style.time(found["median"]),
    }
