"""What each rung gains: a product of the network on the host, a large one on the card, and a batch of the training."""

from ladder.report import study
from ladder.report.figures import layout, peaks, waterfall
from ladder.workloads.backprop.paper import rates
from ladder.workloads.gemm.paper.ceilings import products
from ladder.workloads.mlp.paper import model, query, rungs

TITLE = "What each rung of products and training gains"
CATEGORY = "MLP"
CAPTION = """\
A product of the network on the host, a large one on the card, and a batch of the training by whose products it takes,
rung by rung, peers below; on the card a batch is part of a graph of the epoch. A dot is the median of a process, a tick
the prediction of the model, the wide line the products at the best rate of the device. Beside: the median of the dots,
and how many times as fast a rung is as the one above, with its 99 % interval.
"""
EXPERIMENTS = ("gemm_threads", "gemm_gpu_float64", "mlp_threads", "mlp_gpu", "mlp_peers")
USES_CEILINGS = True
WORDS = {"host": "a product on the host", "card": "a product on the card", "training": "a batch of the training"}


def draw(tables, ceilings):
    """A panel per ladder, of the machine or the two of the chapter."""
    host, card = query.shown(tables)
    found = {
        ladder: panel(ladder, lines, ceilings) for ladder, lines in rungs.measured(host, card).items() if len(lines)
    }
    if not found:
        return layout.empty("products and the training")
    return waterfall.figure(dict(found.values()), "time", "products at the best rate")


def panel(ladder, lines, ceilings):
    """A ladder's headline, and its problem, rungs and ceiling."""
    shown, floors = [], []
    for line, rows, machine in lines:
        first, known = rows.iloc[0], ceilings.get(machine.found.subject, peaks.NONE)
        floors.append(model.floor(first, products(known, first["dtype"], None, first["device"])))
        shown.append(
            waterfall.Rung(
                rungs.label(line, rows),
                rungs.name(line),
                study.processes(rows),
                model.seconds(first, rates.of_ceilings(known, first), rates.threads_of(first)),
                bool(rows["converged"].all()),
                line.is_peer,
            )
        )
    machines = " and ".join(dict.fromkeys(machine.found.subject for *_, machine in lines))
    title = f"{WORDS[ladder][0].upper()}{WORDS[ladder][1:]}, {machines}"
    return title, (problem(lines[0][1].iloc[0]), shown, min(filter(None, floors), default=None))


def problem(row):
    """A panel's problem in words."""
    if row["workload"] == "gemm":
        return f"{row['form']}: {row['m']} × {row['n']} × {row['k']}, {row['dtype']}"
    return f"{row['batch']:,} images, {row['layers']}, {row['dtype']}"
