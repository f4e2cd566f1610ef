"""The speed-up of each rung: a product on the host, a large one on the GPU, and a batch of the training."""

from dataclasses import replace

from ladder.report.figures import layout, waterfall
from ladder.report.telling import ladder
from ladder.workloads.mlp.paper import model
from ladder.workloads.mlp.paper.lines import LINES

TITLE = "What each rung of products and training gains"
CATEGORY = "MLP"
CAPTION = """\
A product of the network on the host, a large product on the GPU, and a batch of the training with different products,
rung by rung, peers below. On the GPU, a batch is part of one CUDA graph of the epoch. Dots are medians of processes,
ticks the predictions of the model; the wide line is the device's best rate of products. Beside: the median of the dots,
and the speed-up over the rung above with its 99 % interval.
"""
EXPERIMENTS = ("gemm_threads", "gemm_gpu_float64", "mlp_threads", "mlp_gpu", "mlp_peers")
USES_CEILINGS = True
PANELS = {  # the sources of each panel's lines
    "A product on the host": ("products",),
    "A product on the GPU": ("nn",),
    "A batch of the training": ("training", "card", "peers"),
}


def draw(study):
    """A panel per ladder, of the machine or the two of the chapter."""
    panels = dict(filter(None, (panel(study, words, sources) for words, sources in PANELS.items())))
    if not panels:
        return layout.empty("products and the training")
    return waterfall.figure(panels, "time", "products at the best rate")


def panel(study, words, sources):
    """A ladder's headline, and its problem, rungs and ceiling; None where nothing was measured."""
    keys = [key for key, line in LINES.items() if line.source in sources and key != "peers/tiled"]
    cases = {key: rows for key, rows in ladder.distinct(study, keys) if len(rows)}
    if not cases:
        return None
    machines = {key: study.machine_of(key) for key in cases}
    floors = [model.floor(machines[key], rows.iloc[0]) for key, rows in cases.items()]
    headline = f"{words}, {' and '.join(dict.fromkeys(machine.subject for machine in machines.values()))}"
    rungs = [rung(study, key, rows) for key, rows in cases.items()]
    return headline, (problem(next(iter(cases.values())).iloc[0]), rungs, min(filter(None, floors), default=None))


def rung(study, key, rows):
    """A line of the waterfall, a training by the name of its product."""
    line = ladder.rung(study, key, rows)
    name = study.line(key).tuning.get("product", line.method)
    return replace(line, label=line.label[line.label.index(name) :], method=name)


def problem(row):
    """A panel's problem in words."""
    if row["workload"] == "gemm":
        return f"{row['form']}: {row['m']} × {row['n']} × {row['k']}, {row['dtype']}"
    return f"{row['batch']:,} images, {row['layers']}, {row['dtype']}"
