"""Where the time of a matrix-vector product on ranks of MPI goes: computation and communication, by number of ranks."""

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ladder.report import distributed
from ladder.report.figures import bars, medians, on_ranks, style

TITLE = "Computation and communication of matrix-vector products on ranks"
CATEGORY = "GEMV"
EXPERIMENTS = ("gemv_mpi",)


def draw(tables):
    """A panel per machine and mode, of the largest matrix; bars by method and ranks, their phases beside each other."""
    tables = tables["gemv_mpi"]
    totals, passes = medians.samples(tables), medians.samples(tables, total=False)
    found = {}
    for name, problems in medians.by_machine(totals[totals["device"] == "mpi"], medians.machines(tables)).items():
        row, rows = max(problems, key=lambda problem: problem[0]["flops"])
        phases = passes[(passes["machine"] == name) & passes["case"].isin(rows["case"])]
        modes = [mode for mode in on_ranks.MODES if mode in set(rows["mode"])]
        found[name] = [
            (f"{medians.vector_product(row)}:\n{on_ranks.MODES[mode]}", groups(rows, phases, mode), ())
            for mode in modes
        ]
    if not found:
        return style.empty("matrix-vector products on ranks")
    shown = [part for some in found.values() for _, methods, _ in some for _, one in methods for part in one]
    return bars.figure(found, "time (ms)", 1.0, entries(shown))


def groups(rows, phases, mode):
    """The bars of a mode by method, of each number of ranks with the fastest number of threads."""
    cases = on_ranks.cases(rows, mode).sort_values("median").drop_duplicates(["method", "ranks"]).sort_values("ranks")
    return [
        (method, [bar(case, phases[phases["case"] == case["case"]], mode) for _, case in some.iterrows()])
        for method, some in ((name, cases[cases["method"] == name]) for name in style.ordered(cases["method"]))
    ]


def bar(case, phases, mode):
    """A case as a bar of milliseconds; what is done once before has its time behind a plus."""
    timed, once = distributed.spent(phases, mode)
    text = style.time(case["median"]) + (f" + {style.time(sum(once.values()))}" if once else "")
    return {
        "name": on_ranks.words(case),
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
    found.append(Line2D([], [], color=style.DARK, marker="o", linestyle="", label="whole call"))
    if any(bar["once"] for bar in shown):
        found.append(Line2D([], [], color=style.DARK, marker="$+$", linestyle="", label="sending, once before"))
    return found
