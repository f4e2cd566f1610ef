"""The phases of a product on ranks and on GPUs: scatter, broadcast, compute and gather."""

from ladder.report.figures import looks
from ladder.report.telling import phase_bars
from ladder.report.telling.lines import select
from ladder.store.study import values, where
from ladder.workloads.gemv.paper.lines import PHASES

TITLE = "Where the time of matrix-vector products on ranks and GPUs goes"
CAPTION = """\
The phases of a product on ranks of the host and on GPUs. Left: the matrix is sent for every product. Right: the matrix
is resident (and larger on GPUs); the time after the plus sign is that of sending it once. A dot is the whole call with
its 95 % interval, hollow if not converged. Phases are timed separately; where their sum differs from the time of the
call by more than a fifth, only the dot is shown.
"""
# With gemv_threads and gemv_gpu, by which the machines of the chapter are chosen.
EXPERIMENTS = ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards", "gemv_cards_large")
MODES = ("matrix sent every time", "matrix resident")
COLOURS = dict(zip(PHASES, (looks.COLOURS[name] for name in ("blue", "sky", "green", "orange")), strict=True))


def draw(study):
    """A row of panels for the ranks of the host and one for the GPUs, with a panel per mode."""
    host, gpus = (study.machine(role).machine_name for role in ("host", "gpus"))
    rows = {
        f"{host}: ranks of the host": panels(study, ("ranks", "ship", "hybrid-ship"), ("ranks", "resident", "hybrid")),
        f"{gpus}: GPUs": panels(study, ("gpus", "mpi-ship", "nccl-ship"), ("large", "mpi-resident", "nccl-resident")),
    }
    return phase_bars.figure(rows, COLOURS, "matrix-vector products on ranks")


def panels(study, *lines_by_mode):
    """A panel per mode, given as (source, line, ...), with a bar for every number of ranks."""
    for mode, (source, *keys) in zip(MODES, lines_by_mode, strict=True):
        if len(frame := study.frame(source)):
            first, variants = frame.iloc[0], {key: study.line(key).variant for key in keys}
            counts = {key: values(where(frame, variant=variant), "ranks") for key, variant in variants.items()}
            groups = {variants[key]: [("", select(key, source, ranks=count)) for count in counts[key]] for key in keys}
            yield phase_bars.panel(study, f"{first['n']:,} × {first['m']:,}: {mode}", groups, with_preparation=True)
