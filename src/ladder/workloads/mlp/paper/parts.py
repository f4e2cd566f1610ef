"""The time of a batch of the training by operation: on one thread, on several, and on the GPU."""

from ladder.report.figures import formats, looks
from ladder.report.telling import phase_bars
from ladder.report.telling.lines import select
from ladder.workloads.mlp.paper import text
from ladder.workloads.mlp.paper.lines import GPU_PRODUCTS, PRODUCTS

TITLE = "Where the time of the training goes"
CAPTION = """\
The time of a batch by operation, for trainings with different products. `forward`, `gradient` and `delta` are products,
those of the larger layer darker. A dot is the whole call with its 95 % interval, hollow if not converged. Where the
operations, timed one by one, do not add up to the call within a fifth, only the dot is shown: a graph runs as a whole,
and other calls may wait for launches.
"""
EXPERIMENTS = ("mlp_threads", "mlp_gpu")
# Operations of layers, by layer, and the others.
COLOURS = {
    f"{name} {layer}": looks.lighter(looks.COLOURS[colour], 0.1 + 0.425 * (layer - 1))
    for name, colour in {"forward": "blue", "gradient": "green", "delta": "pink"}.items()
    for layer in (1, 2)
}
OTHERS = {"activation": "orange", "update": "red", "bias": "brown", "gather": "yellow", "loss": "sky"}
COLOURS |= {name: looks.lighter(looks.COLOURS[colour], 0.1) for name, colour in OTHERS.items()}


def draw(study):
    """A panel for each number of threads of the host, and one of the GPU."""
    counts = dict.fromkeys([1, text.best_threads(study)]) if len(study.frame("training")) else ()
    panels = {study.machine(role).subject: [] for role in ("host", "gpu")}
    for count in counts:
        sides = [(name, select(f"training/{name}", threads=count)) for name in PRODUCTS]
        panel = phase_bars.panel(study, "A batch on the host", {formats.threads(count): sides})
        panels[study.machine("host").subject].append(panel)
    groups = {
        words: [(name, select(f"training/{name}", graph=graph)) for name in GPU_PRODUCTS]
        for words, graph in {"one by one": "off", "as a graph": "on"}.items()
    }
    panels[study.machine("gpu").subject].append(phase_bars.panel(study, "A batch on the GPU", groups))
    return phase_bars.figure(panels, COLOURS, "the training by operation")
