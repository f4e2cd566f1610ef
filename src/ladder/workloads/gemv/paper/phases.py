"""Where the time of a product goes on ranks and on cards: sending, computing and gathering."""

from ladder.report.figures import bars, formats, layout, looks, methods, theme
from ladder.report.figures.theme import Line2D, Patch
from ladder.report.study import middle, processes, values, where
from ladder.report.telling.chapter_study import parts
from ladder.report.telling.lines import place, select
from ladder.statistics import intervals
from ladder.workloads.gemv.paper.claims import of_products
from ladder.workloads.gemv.paper.tables import PHASES

TITLE = "Where the time of matrix-vector products on ranks and cards goes"
CATEGORY = "GEMV"
CAPTION = """\
The phases of a product on ranks of the host and on cards. Left the matrix is sent with every product, right it stays;
behind a plus stands the time in which it was sent before the first. A dot is the whole call, with its 95 % interval,
hollow if not converged. Phases are timed apart; where they don't add up to the call within a fifth, they are no parts
of it, and the dot stands alone.
"""
EXPERIMENTS = ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards", "gemv_cards_large")
MODES = {"ship": "the matrix is sent every time", "resident": "the matrix stays"}
COLOURS = {
    name: looks.COLOURS[colour] for name, colour in zip(PHASES, ("blue", "sky", "green", "orange"), strict=True)
}
# The lines that are shown, on every number of ranks, and their sources by mode.
RANKS = {"ship": ("ranks", ("ship", "hybrid-ship")), "resident": ("ranks", ("resident", "hybrid"))}
CARDS = {"ship": ("cards", ("mpi-ship", "nccl-ship")), "resident": ("large", ("mpi", "nccl"))}


def draw(study):
    """A row of panels for the ranks of the host and one for the cards, a panel by mode."""
    host, cards = (study.machine(role).subject for role in ("host", "cards"))
    rows = {f"{host}: ranks of the host": panels(study, RANKS), f"{cards}: cards": panels(study, CARDS)}
    rows = {name: some for name, some in rows.items() if some}
    if not rows:
        return layout.empty("matrix-vector products on ranks")
    every = [bar for some in rows.values() for _, groups, _ in some for _, own in groups for bar in own]
    shown = {phase for bar in every for phase in bar["phases"]}
    return bars.figure(rows, "time (ms)", 0.85, entries(shown))


def panels(study, lines):
    """Title, groups of bars and no lines, for each mode that was measured."""
    found = []
    for mode, (source, keys) in lines.items():
        groups = [(study.line(key).variant, bars_of(study, source, key)) for key in keys]
        groups = [(name, own) for name, own in groups if own]
        if groups:
            row = study.frame(source).iloc[0]
            found.append((f"{row['n']:,} × {row['m']:,}: {MODES[mode]}", sorted(groups, key=place_in_order), ()))
    return found


def place_in_order(group):
    """Where a method stands among all."""
    return methods.ordered(list(methods.looks())).index(group[0])


def bars_of(study, source, key):
    """A bar of a line for every number of ranks."""
    counts = values(where(study.frame(source), variant=study.line(key).variant), "ranks")
    every = [select(key, source, ranks=count) for count in counts]
    return [bar(study, one) for one in every if len(study.find(one))]


def bar(study, selection):
    """A case as a bar of milliseconds."""
    rows, phases = study.find(selection), study.phases(selection)
    times, summary = parts(rows, of_products(phases)), intervals.summary(processes(rows))
    once = where(phases, phase="scatter", mode="resident")
    is_sent = len(once) and (rows["device"].iloc[0] == "mpi_cuda" or rows["ranks"].iloc[0] > 1)
    return {
        "name": place(rows.iloc[0]),
        "value": 1e3 * middle(rows),
        "median": 1e3 * middle(rows),
        "low": 1e3 * min(summary.low, middle(rows)),
        "high": 1e3 * max(summary.high, middle(rows)),
        "converged": bool(rows["converged"].all()),
        "parts": [(1e3 * seconds, COLOURS[phase]) for phase, seconds in times.items()],
        "phases": list(times),
        "text": formats.time(middle(rows)) + (f" + {formats.time(middle(once))}" if is_sent else ""),
    }


def entries(shown):
    """The legend of the phases that are shown, and of the call."""
    found = [Patch(facecolor=colour, label=phase) for phase, colour in COLOURS.items() if phase in shown]
    return [*found, Line2D([], [], color=theme.DARK, marker="o", linestyle="", label="whole call")]
