"""The tables of the chapter: the ladder and the verdicts; behind it peers, the card's epochs, and all machines."""

from ladder.report import ladder_table, latex, roofs, study, verdict_table
from ladder.report.cells import NONE, rate
from ladder.report.latex import code, percent
from ladder.workloads import gemm, mlp
from ladder.workloads.backprop.paper import rates
from ladder.workloads.mlp.paper import model, query, rungs, verdicts

GIGA = 1e9
PEERS = {
    "tiled": {"variant": "host", "product": "tiled"},
    "blas": {"variant": "host", "product": "blas"},
    "numpy_loop": {"variant": "numpy_loop"},
    "pytorch": {"variant": "pytorch"},
}
# The products of the ladder's table, every rung once.
SHOWN = {
    "host": ("openmp", "interchanged", "tiled", "blas"),
    "card": ("cuda_naive", "cuda_shared", "cuda_columns", "cuda_tiled", "cuda_mma", "cublas"),
}


def tables(found):
    """Every table's LaTeX by its name."""
    host, card = query.chosen(found)
    return {
        "ladder": ladder(host, card),
        "verdicts": verdict_table.table(*verdicts.verdicts(found).values()),
        "peers": peers(host.found),
        "gpu": gpu(card.found),
        "compared": compared(found),
    }


def ladder(host, card):
    """Every rung with its idea: products on one thread and on the card, and a batch of the training."""
    lines = rungs.measured(host, card)
    groups = [[product(variant, lines[name]) for variant in variants] for name, variants in SHOWN.items()]
    groups += filter(None, [trainings(host, card)])
    return ladder_table.table([one for group in groups for one in (None, *group)][1:], "Time")


def product(variant, lines):
    """A product's line of the ladder's table, from the first of its variant's."""
    found = next((one[1:] for one in lines if one[0].variant == variant), (study.NO_ROWS, None))
    return rung(code(variant), gemm.RUNGS[variant], variant, *found)


def trainings(host, card):
    """The lines of trainings, by the form in which each was measured."""
    found, seen = [], set()
    for line, rows, machine in rungs.trainings(host, card):
        named = filter(None, [line.variant, line.tuning.get("product")])
        idea = "the same" if line.variant in seen else mlp.RUNGS[line.variant]
        seen.add(line.variant)
        found.append(rung(", ".join([*map(code, named), rungs.words(line, rows)]), idea, line.variant, rows, machine))
    return found


def rung(name, idea, variant, rows, machine):
    """A line of the ladder's table, with what the model predicts."""
    predicted = None
    if len(rows):
        first = rows.iloc[0]
        predicted = model.seconds(first, rates.of_study(machine.found, first), rates.threads_of(first))
    return ladder_table.Rung(name, idea.removeprefix("peer: "), rungs.RELIEVES.get(variant, ""), predicted, rows)


def time(rows):
    """The time of a case."""
    return latex.seconds(study.middle(rows)) if len(rows) else NONE


def share(rows, ceiling):
    """FLOP/s of a case over a ceiling."""
    return percent(rows["flops"].iloc[0] / study.middle(rows) / ceiling, 2) if len(rows) and ceiling else NONE


def peers(found):
    """The training against its peers, by batch and threads."""
    frame = found.samples(query.PEERS, dtype="float64")
    rows = []
    for batch in study.values(frame, "batch"):
        rows += [None] if rows else []
        here = study.one_size(study.where(frame, batch=batch))
        for name, chosen in PEERS.items():
            for count, case in study.by_threads(study.where(here, **chosen)).items():
                ceiling = roofs.arithmetic(found, "float64", count)
                rows.append([str(batch), code(name), str(count), time(case), share(case, ceiling)])
    return latex.table("rlrrr", ["Batch", "Training", "Threads", "Epoch", "of ceiling"], rows)


def gpu(found):
    """The epoch on the card by product, with and without a graph, and PyTorch's; the precision by name."""
    frame, rows = found.samples(query.CARD), []
    for dtype in study.values(frame, "dtype")[::-1]:
        rows += [None] if rows else []
        typed = study.where(frame, dtype=dtype)
        methods = [*({"variant": "cuda", "product": name} for name in rungs.CARD_PRODUCTS), {"variant": "pytorch_cuda"}]
        for one in methods:
            here = study.where(typed, **one)
            if len(here):
                times = [time(study.where(here, graph=graph)) for graph in ("off", "on")]
                name, precision = code(one.get("product", one["variant"])), here["precision"].iloc[0]
                rows.append([f"{name}, TF32" if precision == "tf32" else name, code(dtype), *times])
    return latex.table("llrr", ["Product", "Type", "launched one by one", "as a graph"], rows)


def compared(found):
    """The machines side by side: the rungs on the square product, and the best training of two of them."""
    rows = []
    for name in found.machines():
        machine = found.of(name)
        square = study.one_size(machine.samples(query.LOOPS, threads=1, dtype="float64", form="nn"))
        cases = (study.where(square, variant=variant) for variant in rungs.PRODUCTS)
        cells = [rate(case["flops"].iloc[0] / study.middle(case), GIGA) if len(case) else NONE for case in cases]
        trainings = study.one_size(machine.samples(query.THREADS, dtype="float64", device="host"))
        for product in ("openmp", "blas"):
            counts = study.by_threads(study.where(trainings, product=product))
            best, tested = study.chosen_apart(counts) if counts else (None, None)
            cells.append(f"{time(tested)} ({best})" if best else NONE)
        if any(cell != NONE for cell in cells):
            size = f"${square['m'].iloc[0]}^3$" if len(square) else NONE
            rows.append([code(name), size, *cells])
    head = [r"&& \multicolumn{4}{c}{product, GFLOP/s} & \multicolumn{2}{c}{training, best time (threads)} \\"]
    head[0] += r"\cmidrule(lr){3-6}\cmidrule(l){7-8}" + "\nMachine"
    head += ["Size", *map(code, rungs.PRODUCTS), code("openmp"), code("blas")]
    return latex.table(r">{\raggedright}p{0.19\linewidth}lrrrrrr", head, rows)
