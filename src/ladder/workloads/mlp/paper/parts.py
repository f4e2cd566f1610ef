"""Where the time of the training goes: a batch by operation, on one thread, on several, and on the GPU."""

from ladder.report.figures import looks
from ladder.report.telling import phase_bars
from ladder.report.telling.lines import select
from ladder.workloads.mlp.paper import text
from ladder.workloads.mlp.paper.lines import GPU_PRODUCTS, PRODUCTS

TITLE = "Where the time of the training goes"
CATEGORY = "MLP"
CAPTION = """\
The time of a batch by operation, for trainings with different products. `forward`, `gradient` and `delta` are products,
those of the larger layer darker. A dot is the whole call with its 95 % interval, hollow if not converged. Where the
operations, timed one by one, do not add up to the call within a fifth, only the dot is shown: a graph has no parts, and
a call may wait for launches.
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
FORMS = {"off": "one by one", "on": "graph"}


def draw(study):
    """A panel of the host, by product and threads, and one of the GPU, with a CUDA graph and without."""
    counts = dict.fromkeys([1, text.best_threads(study)]) if len(study.frame("training")) else ()
    on_host = {name: [("", select(f"training/{name}", threads=count)) for count in counts] for name in PRODUCTS}
    on_gpu = {
        name: [(words, select(f"training/{name}", graph=graph)) for graph, words in FORMS.items()]
        for name in GPU_PRODUCTS
    }
    host, gpu = (study.machine(role).subject for role in ("host", "card"))
    rows = {
        f"{host}: host": [phase_bars.panel(study, "A batch by product and threads", on_host)],
        f"{gpu}: GPU": [phase_bars.panel(study, "A batch by product and launches", on_gpu)],
    }
    return phase_bars.figure(rows, COLOURS, "the training by operation")
