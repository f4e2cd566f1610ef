"""Where the time of a product goes on ranks and on cards: sending, computing and gathering."""

from ladder.report.figures import looks
from ladder.report.telling import phase_bars
from ladder.workloads.gemv.paper.lines import PHASES

TITLE = "Where the time of matrix-vector products on ranks and cards goes"
CATEGORY = "GEMV"
CAPTION = """\
The phases of a product on ranks of the host and on cards. Left the matrix is sent with every product, right it stays;
behind a plus stands the time in which it was sent before the first. A dot is the whole call, with its 95 % interval,
hollow if not converged. Phases are timed apart; where they don't add up to the call within a fifth, they are no parts
of it, and the dot stands alone.
"""
EXPERIMENTS = ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards", "gemv_cards_large")
MODES = ("the matrix is sent every time", "the matrix stays")
COLOURS = dict(zip(PHASES, (looks.COLOURS[name] for name in ("blue", "sky", "green", "orange")), strict=True))


def draw(study):
    """A row of panels for the ranks of the host and one for the cards, a panel by mode."""
    host, cards = (study.machine(role).subject for role in ("host", "cards"))
    rows = {
        f"{host}: ranks of the host": panels(study, ("ranks", "ship", "hybrid-ship"), ("ranks", "resident", "hybrid")),
        f"{cards}: cards": panels(study, ("cards", "mpi-ship", "nccl-ship"), ("large", "mpi", "nccl")),
    }
    return phase_bars.figure(study, rows, COLOURS, "matrix-vector products on ranks")


def panels(study, *lines):
    """A panel for each mode, from its source and lines."""
    return [
        phase_bars.panel(study, source, keys, lambda row, words=words: f"{row['n']:,} × {row['m']:,}: {words}")
        for words, (source, *keys) in zip(MODES, lines, strict=True)
    ]
