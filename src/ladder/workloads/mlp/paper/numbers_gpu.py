"""The numbers of the training on a card: an epoch, its peers, and the card beside its machine's cores."""

from ladder.report import study
from ladder.report.findings import answers, distance, untested
from ladder.report.latex import code, percent, seconds
from ladder.report.phrases import comparison, thread_count, with_prefix
from ladder.workloads.gemm.paper.card import DTYPES, on_card
from ladder.workloads.gemm.paper.numbers_gpu import TRANSFERS, transfers


def numbers(found):
    """Every key's value, without the workload's name."""
    found = on_card(found)
    values = {}
    for dtype in DTYPES:
        values |= with_prefix(f"gpu/{dtype}", training(found, dtype))
    values |= with_prefix("beside", beside(found))
    return values | with_prefix("findings", answers({"transfers": about_transfers(found)}))


def training(found, dtype):
    """The epoch on the card: the fastest product, against PyTorch, and the products' share."""
    frame = found.samples("mlp_gpu", dtype=dtype)
    own = study.where(frame, variant="cuda")
    peers = {graph: study.where(frame, variant="pytorch_cuda", graph=graph) for graph in ("off", "on")}
    # What works in a lower precision doesn't compete.
    exact = own[own["precision"] == dtype] if len(own) else own
    best, plain = study.fastest(study.where(exact, graph="on")), study.fastest(study.where(exact, graph="off"))
    values = {"product": code(best["product"].iloc[0]) if len(best) else None}
    values["time"] = seconds(best["seconds"].median()) if len(best) else None
    values["against/graph-off"] = comparison(best, plain, "the fastest without a graph")
    values["against/eager"] = comparison(best, peers["off"], "PyTorch")
    values["against/graph"] = comparison(best, peers["on"], "PyTorch with a graph of the epoch")
    values["share"] = share(found, plain)
    copies = transfers(found, best)
    values["transfers"] = seconds(copies) if copies else None
    return values


def share(found, rows):
    """The products' share of the operations' time, or None."""
    if rows.empty:
        return None
    every = found.rows("samples", "mlp_gpu", variant="cuda", case=rows["case"].iloc[0])
    phases = every[~every["phase"].isin(["total", *TRANSFERS])].groupby("phase")["seconds"].median()
    products = phases[phases.index.str.match("forward|gradient|delta")]
    return percent(products.sum() / phases.sum()) if len(phases) else None


def beside(found):
    """The training of one experiment on the CPU and, with the fastest product, on the card, copies apart."""
    card, blas, name = card_and_blas(found)
    best = study.fastest(card)
    copies = transfers(found, best)
    return {
        "product": code(best["product"].iloc[0]) if len(best) else None,
        "time": seconds(best["seconds"].median()) if len(best) else None,
        "against/blas": comparison(best, blas, name),
        "transfers": seconds(copies) if copies else None,
    }


def card_and_blas(found):
    """The training of one experiment: its cases on the card, `blas` on its best threads, and words for the latter."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64"))
    blas = study.best_of(study.by_threads(study.where(frame, variant="host", product="blas")))
    name = f"{code('blas')} on {thread_count(blas['threads'].iloc[0])}" if len(blas) else code("blas")
    return study.where(frame, variant="cuda"), blas, name


def about_transfers(found):
    """Whether copies alone bring `cublas` within reach of `blas` in an epoch, and the evidence for it."""
    card, blas, name = card_and_blas(found)
    cublas = study.fastest(study.where(card, product="cublas"))
    copies = transfers(found, cublas)
    if blas.empty or not copies:
        return untested("a measurement is missing")
    copied = cublas.assign(seconds=cublas["seconds"] + copies)
    evidence = (
        f"an epoch with {code('cublas')} {comparison(cublas, blas, name)}; "
        f"with the copies, {seconds(copies)}, in every epoch it {comparison(copied, blas, 'that')}"
    )
    alone, together = (distance(rows, blas) for rows in (cublas, copied))
    if together == "near":
        return {"ahead": "holds", "near": "holds in part"}.get(alone, "can't be told"), evidence
    return "can't be told" if together == "between" else "does not hold", evidence
