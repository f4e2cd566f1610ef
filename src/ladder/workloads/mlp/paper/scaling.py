"""How products and the training scale with threads: on the chapter's host, and on the one with most threads."""

from functools import partial

from ladder.report.figures.looks import COLOURS, Look
from ladder.report.telling import scaling
from ladder.report.telling.lines import MAX, select
from ladder.store import rates
from ladder.workloads.mlp.paper.lines import DTYPE

TITLE = "Products and training by threads"
CAPTION = """\
Rates by the number of threads. Left: the forward product of the network's larger layer. Middle and right: the training
with different products, on the host of this section and on the machine with the most threads. Medians with 95 %
intervals, hollow if not converged.
"""
EXPERIMENTS = ("gemm_threads", "mlp_threads", "mlp_gpu")
USES_CEILINGS = True
HEIGHT = 1.6  # inches of a panel
LOOKS = {
    name: Look(name, COLOURS[colour], "o")
    for name, colour in {"openmp": "red", "interchanged": "orange", "tiled": "green", "blas": "blue"}.items()
}
PRODUCTS = partial(rates.products_by_threads, precision=DTYPE)  # FLOP/s of the best product by number of threads


def draw(study):
    """A panel of products and up to two of the training."""
    panels = [panel("host", "{}", "products", "product"), panel("host", "training/{}", "training", "training")]
    if study.machine("widest").subject != study.machine("host").subject:
        panels.append(panel("widest", "training/{}", "widest", "training"))
    ceiling, empty = "best product on as many threads", "products and the training by threads"
    return scaling.figure(study, panels, "flops", ceiling, empty, HEIGHT)


def panel(role, key, source, words):
    """The lines of a source on all numbers of threads."""
    lines = [(select(key.format(name), source, threads=MAX), look) for name, look in LOOKS.items()]
    return scaling.Panel(role, lines, f"threads ({words})", PRODUCTS)
