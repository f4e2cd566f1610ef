"""Time of an epoch of the training beside the same training in other software."""

from ladder.report.figures import bars, formats, layout, medians, methods
from ladder.workloads.mlp.paper import problem

TITLE = "The training against its peers"
CATEGORY = "MLP"
CAPTION = """\
Time of an epoch of the training beside the same loop written by hand in NumPy, and beside PyTorch. Medians with 95 %
intervals; a hollow bar is a case whose interval stayed wider than the target.
"""
EXPERIMENTS = ("mlp_peers",)
SHADES = (0.0, 0.45, 0.65, 0.8)


def draw(tables):
    """A panel per machine and training; bars by method and number of threads, the reason where one is missing."""
    tables = tables["mlp_peers"]
    missing = methods.with_methods(tables["missing"]) if len(tables["missing"]) else None
    found = {
        name: [(problem.title(row), groups(rows, missing), ()) for row, rows in problems]
        for name, problems in medians.by_machine(medians.samples(tables), medians.machines(tables)).items()
    }
    if not found:
        return layout.empty("trainings beside their peers")
    return bars.figure(found, "time of an epoch (ms)", 0.95)


def groups(rows, missing):
    """A training's bars by method; a method without any has its reason from the missing cases."""
    found = medians.summaries(rows)
    shown = [
        (method, [bar(count, row) for count, (_, row) in enumerate(found[found["method"] == method].iterrows())])
        for method in methods.ordered(found["method"])
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
        "name": formats.threads(found["threads"]),
        "value": 1e3 * found["median"],
        "low": 1e3 * found["low"],
        "high": 1e3 * found["high"],
        "converged": found["converged"],
        "shade": SHADES[min(count, len(SHADES) - 1)],
        "text": formats.time(found["median"]),
    }
