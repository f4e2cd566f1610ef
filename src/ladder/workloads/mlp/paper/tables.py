"""The tables of the training: by threads, against its peers, on a card, and on all machines side by side."""

from ladder.report import latex, roofs, study
from ladder.report.cells import NONE, median, rate, speedup, timed
from ladder.report.latex import code, percent
from ladder.workloads.gemm.paper.card import on_card
from ladder.workloads.gemm.paper.numbers import RUNGS, shape
from ladder.workloads.gemm.paper.numbers_gpu import RUNGS as CARD_RUNGS
from ladder.workloads.gemm.paper.tables import in_order
from ladder.workloads.mlp.paper.numbers import PEERS
from ladder.workloads.mlp.paper.numbers_gpu import share
from ladder.workloads.mlp.paper.operations import shares_of

GIGA = 1e9


def tables(found):
    """Every table's LaTeX by its name."""
    return {
        "threads": threads(found),
        "peers": peers(found),
        "gpu": gpu(on_card(found)),
        "compared": compared(found),
    }


def threads(found):
    """The training by product and threads."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64", device="host"))
    base = study.where(frame, product="openmp", threads=1)
    rows = []
    for product in in_order(study.values(frame, "product")):
        rows += [None] if rows else []
        cases = study.by_threads(study.where(frame, product=product))
        for count, here in cases.items():
            shares = shares_of(found, product, count)
            products = percent(shares["products"].median()) if len(shares) else NONE
            cells = [
                *timed(here, roofs.arithmetic(found, "float64", count)),
                speedup(cases.get(1, here.iloc[:0]), here),
                speedup(base, here),
                products,
            ]
            rows.append([code(product), str(count), *cells])
    head = [
        "Product",
        "Threads",
        "Time",
        r"\qty{95}{\percent} interval",
        "of ceiling",
        "over own",
        "over base",
        "products",
    ]
    return latex.table("lrrrrrrr", head, rows)


def peers(found):
    """The training against its peers, by batch and threads."""
    frame = found.samples("mlp_peers", dtype="float64")
    rows = []
    for batch in study.values(frame, "batch"):
        rows += [None] if rows else []
        here = study.one_size(study.where(frame, batch=batch))
        for name, chosen in PEERS.items():
            for count, case in study.by_threads(study.where(here, **chosen)).items():
                cells = timed(case, roofs.arithmetic(found, "float64", count))
                rows.append([str(batch), code(name), str(count), *cells])
    head = ["Batch", "Training", "Threads", "Time", r"\qty{95}{\percent} interval", "of ceiling"]
    return latex.table("rlrrrr", head, rows)


def gpu(found):
    """The epoch on the card by product, with and without a graph, and PyTorch's."""
    frame, rows = found.samples("mlp_gpu"), []
    for dtype in study.values(frame, "dtype")[::-1]:
        rows += [None] if rows else []
        typed = study.where(frame, dtype=dtype)
        methods = [*({"variant": "cuda", "product": name} for name in CARD_RUNGS), {"variant": "pytorch_cuda"}]
        for one in methods:
            here = study.where(typed, **one)
            if len(here):
                cases = [study.where(here, graph=graph) for graph in ("off", "on")]
                times = [median(case) for case in cases]
                shares = share(found, cases[0]) if "product" in one else None
                precision = code(here["precision"].iloc[0])
                rows.append([code(one.get("product", one["variant"])), precision, *times, shares or NONE])
    return latex.table("llrrr", ["Product", "Precision", "launched one by one", "as a graph", "products"], rows)


def compared(found):
    """The machines side by side: the rungs on the large product, and the best training of two of them."""
    rows = []
    for name in found.machines():
        machine = found.of(name)
        square = study.one_size(machine.samples("gemm_square", threads=1, dtype="float64", form="nn"))
        cells = []
        for variant in RUNGS:
            case = study.where(square, variant=variant)
            cells.append(rate(case["flops"].iloc[0] / case["seconds"].median(), GIGA) if len(case) else NONE)
        trainings = study.one_size(machine.samples("mlp_threads", dtype="float64", device="host"))
        for product in ("openmp", "blas"):
            counts = study.by_threads(study.where(trainings, product=product))
            best = study.shortest(counts) if counts else None
            cells.append(f"{median(counts[best])} ({best})" if best else NONE)
        if any(cell != NONE for cell in cells):
            rows.append([code(name), shape(square) or NONE, *cells])
    head = [r"&& \multicolumn{4}{c}{product, GFLOP/s} & \multicolumn{2}{c}{training, best time (threads)} \\"]
    head[0] += r"\cmidrule(lr){3-6}\cmidrule(l){7-8}" + "\nMachine"
    head += ["Size", *map(code, RUNGS), code("openmp"), code("blas")]
    return latex.table(r">{\raggedright}p{0.19\linewidth}lrrrrrr", head, rows)
