"""Where the time of a matrix-vector product on ranks of MPI goes: computation and communication, by number of ranks."""

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ladder.report.figures import bars, formats, layout, medians, methods, theme
from ladder.workloads.gemv.paper import distributed, on_ranks, problem

TITLE = "Computation and communication of matrix-vector products on ranks"
CATEGORY = "GEMV"
CAPTION = """\
Phases of the product of the largest matrix and a vector on ranks of MPI, with a thread each and with several (`2 × 4
threads`), the hybrid with its fastest number of threads for each number of ranks. Left the matrix is sent with every
product, right it stays with the ranks. Bars: medians of the phases, from passes in which each was timed on its own,
as the slowest rank saw it; they may differ from the whole call, which is the dot, a median with its 95 % interval,
hollow if that stayed wider than the target. Behind a plus: the time in which the matrix was sent once, before the
first product.
"""
EXPERIMENTS = ("gemv_mpi",)


def draw(tables):
    """A panel per machine and mode, of the largest matrix; bars by method and ranks, their phases beside each other."""
    tables = tables["gemv_mpi"]
    totals, passes = medians.samples(tables), medians.samples(tables, total=False)
    found = {}
    for name, problems in medians.by_machine(totals[totals["device"] == "mpi"], medians.machines(tables)).items():
        row, rows = max(problems, key=lambda one: one[0]["flops"])
        phases = passes[(passes["machine"] == name) & passes["case"].isin(rows["case"])]
        modes = [mode for mode in on_ranks.MODES if mode in set(rows["mode"])]
        found[name] = [
            (f"{problem.title(row)}:\n{on_ranks.MODES[mode]}", groups(rows, phases, mode), ()) for mode in modes
        ]
    if not found:
        return layout.empty("matrix-vector products on ranks")
    shown = [part for some in found.values() for _, bars_of, _ in some for _, one in bars_of for part in one]
    return bars.figure(found, "time (ms)", 1.0, entries(shown))


def groups(rows, phases, mode):
    """The bars of a mode by method, of each number of ranks with the fastest number of threads."""
    cases = on_ranks.cases(rows, mode).sort_values("median").drop_duplicates(["method", "ranks"]).sort_values("ranks")
    return [
        (method, [bar(case, phases[phases["case"] == case["case"]], mode) for _, case in some.iterrows()])
        for method, some in ((name, cases[cases["method"] == name]) for name in methods.ordered(cases["method"]))
    ]


def bar(case, phases, mode):
    """A case as a bar of milliseconds; what is done once before has its time behind a plus."""
    timed, once = distributed.spent(phases, mode)
    text = formats.time(case["median"]) + (f" + {formats.time(sum(once.values()))}" if once else "")
    return {
        "name": on_ranks.where(case),
        **{name: 1e3 * case[name] for name in ("low", "high")},
        "value": 1e3 * case["median"],
        "median": 1e3 * case["median"],
        "converged": case["converged"],
        "parts": [(1e3 * seconds, colour(phase)) for phase, seconds in timed.items()],
        "phases": list(timed),
        "once": bool(once),
        "text": text,
    }


def colour(phase):
    """A phase's colour."""
    return on_ranks.COLOURS.get(phase, on_ranks.KINDS[distributed.kind(phase)])


def entries(shown):
    """The legend of some bars."""
    names = dict.fromkeys(name for bar in shown for name in bar["phases"])
    found = [Patch(facecolor=colour(name), label=name) for name in sorted(names, key=list(on_ranks.COLOURS).index)]
    found.append(Line2D([], [], color=theme.DARK, marker="o", linestyle="", label="whole call"))
    if any(bar["once"] for bar in shown):
        found.append(Line2D([], [], color=theme.DARK, marker="$+$", linestyle="", label="sending, once before"))
    return found
