"""Where the time of a product goes on ranks and on cards: sending, computing and gathering."""

from ladder.report import study
from ladder.report.figures import bars, formats, layout, looks, methods, theme
from ladder.report.figures.theme import Line2D, Patch
from ladder.report.study import Study
from ladder.statistics import intervals
from ladder.workloads.gemv.paper import query, rungs

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
    name: looks.COLOURS[colour] for name, colour in zip(query.PHASES, ("blue", "sky", "green", "orange"), strict=True)
}
# The lines that are shown, on every number of ranks: {mode: keys}.
RANKS = {"ship": ("ship", "hybrid-ship"), "resident": ("resident", "hybrid")}
CARDS = {"ship": ("mpi-ship", "nccl-ship"), "resident": ("mpi", "nccl")}


def draw(tables):
    """A row of panels for the ranks of the host and one for the cards, a panel by mode."""
    machines = query.chosen(Study(tables, None))
    host, cards = machines.host, machines.cards
    found = {
        f"{host.found.subject}: ranks of the host": panels(host, dict.fromkeys(MODES, host.ranks), RANKS),
        f"{cards.found.subject}: cards": panels(cards, {"ship": cards.cards, "resident": cards.large}, CARDS),
    }
    found = {name: some for name, some in found.items() if some}
    if not found:
        return layout.empty("matrix-vector products on ranks")
    shown = {
        phase
        for some in found.values()
        for _, groups, _ in some
        for _, own in groups
        for bar in own
        for phase in bar["phases"]
    }
    return bars.figure(found, "time (ms)", 0.85, entries(shown))


def panels(machine, frames, keys):
    """Title, groups of bars and no lines, for each mode that was measured."""
    found = []
    for mode, words in MODES.items():
        groups = [(rungs.LINES[key].line.variant, bars_of(machine, frames[mode], key)) for key in keys[mode]]
        groups = [(name, own) for name, own in groups if own]
        if groups:
            row = frames[mode].iloc[0]
            found.append((f"{row['n']:,} × {row['m']:,}: {words}", sorted(groups, key=place_in_order), ()))
    return found


def place_in_order(group):
    """Where a method stands among all."""
    return methods.ordered(list(methods.looks())).index(group[0])


def bars_of(machine, frame, key):
    """A bar of a line for every number of ranks."""
    counts = study.values(study.where(frame, variant=rungs.LINES[key].line.variant), "ranks")
    cases = [rungs.changed(key, frame, ranks=count) for count in counts]
    return [bar(machine, rows) for rows in cases if len(rows)]


def bar(machine, rows):
    """A case as a bar of milliseconds."""
    middle, parts = study.middle(rows), query.parts(rows, machine.phases)
    summary = intervals.summary(study.processes(rows))
    sent = query.sending(rows, machine.phases)
    return {
        "name": rungs.place(rows.iloc[0]),
        "value": 1e3 * middle,
        "median": 1e3 * middle,
        "low": 1e3 * min(summary.low, middle),
        "high": 1e3 * max(summary.high, middle),
        "converged": bool(rows["converged"].all()),
        "parts": [(1e3 * seconds, COLOURS[phase]) for phase, seconds in parts.items()],
        "phases": list(parts),
        "text": formats.time(middle)
        + (f" + {formats.time(study.middle(sent))}" if is_sent(rows) and len(sent) else ""),
    }


def is_sent(rows):
    """Whether something is sent at all: to a card, or to a further rank."""
    first = rows.iloc[0]
    return first["device"] == "mpi_cuda" or first["ranks"] > 1


def entries(shown):
    """The legend of the phases that are shown, and of the call."""
    found = [Patch(facecolor=colour, label=phase) for phase, colour in COLOURS.items() if phase in shown]
    return [*found, Line2D([], [], color=theme.DARK, marker="o", linestyle="", label="whole call")]
