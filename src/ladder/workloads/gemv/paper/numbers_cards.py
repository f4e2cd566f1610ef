"""The numbers of the product on several cards, one for each rank."""

from ladder.report import roofs, study
from ladder.report.latex import code, percent, seconds
from ladder.report.phrases import NOTHING, comparison, with_prefix
from ladder.workloads.gemv.paper import distributed
from ladder.workloads.gemv.paper.numbers_ranks import parts
from ladder.workloads.gemv.paper.query import (
    MODES,
    bandwidth,
    eager,
    machine,
    matrix,
    method,
    setting,
    sizes,
    throughput,
)


def on_cards(found):
    """Several GPUs, on the largest matrix, if possible one of ranks on cores too."""
    of_cards = [rows for rows in sizes(found, "gemv_mpi", "gemv_cards") if "mpi_cuda" in set(rows["device"])]
    also_on_cores = [rows for rows in of_cards if "mpi" in set(rows["device"])]
    rows = (also_on_cores or of_cards or [study.NO_ROWS])[-1]
    shared = study.fastest(study.where(rows, device="host"))
    values = {"machine": machine(found), "matrix": matrix(rows)}
    values["shared/time"] = seconds(shared["seconds"].median()) if len(shared) else None
    for mode in MODES:
        here = study.where(rows, mode=mode)
        several, single = (here[here["ranks"] > 1], here[here["ranks"] == 1]) if len(here) else (here, here)
        cores = study.fastest(distributed.without_twins(study.where(several, device="mpi")))
        best, one = (study.fastest(study.where(some, device="mpi_cuda")) for some in (several, single))
        values |= with_prefix(f"{mode}/best", parts(found, best, mode))
        values[f"{mode}/best/method"] = method(best)
        values[f"{mode}/best/place"] = setting(best)
        values |= with_prefix(f"{mode}/cores", parts(found, cores, mode))
        values[f"{mode}/cores/place"] = setting(cores)
        values[f"{mode}/best/against/cores"] = comparison(best, cores, "that")
        values[f"{mode}/best/against/shared"] = comparison(best, shared, "the fastest on threads")
        values[f"{mode}/best/against/one"] = comparison(best, one, "the fastest on one GPU")
        values[f"{mode}/nccl/against/mpi"] = by_nccl(several)
        values[f"{mode}/overlap"] = overlap(eager(here), best)
    return values


def by_nccl(rows):
    """The fastest product by NCCL against the fastest by the hosts' MPI, both launched one by one."""
    cases = [study.fastest(study.where(eager(rows), variant=name)) for name in ("nccl_cublas", "mpi_cublas")]
    return comparison(*cases, code("mpi_cublas"))


def overlap(rows, best):
    """How pieces that overlap do against one piece, on the same number of cards and by the same link as a case."""
    alike = {name: best[name].iloc[0] for name in ("variant", "ranks")} if len(best) else {}
    here = study.where(rows, **alike) if alike else study.NO_ROWS
    pieces = study.fastest(here[here["chunks"] > 1]) if len(here) else study.NO_ROWS
    return comparison(pieces, study.where(here, chunks=1), "the same in one piece")


def as_graph(found):
    """A product as a graph against the same without, on the largest matrix and the most cards that have both."""
    graph, plain = next(twins(found), (study.NO_ROWS, study.NO_ROWS))
    return {
        "machine": machine(found),
        "matrix": matrix(graph),
        "place": setting(graph),
        "against/eager": comparison(graph, plain, "the same launched one by one"),
    }


def twins(found):
    """Cases as a graph, each with the one that differs in nothing else: the largest matrix first, and most cards."""
    for rows in reversed(sizes(found, "gemv_cards")):
        graphs, plain = study.where(rows, graph="on"), eager(rows)
        for count in reversed(study.values(graphs, "ranks")):
            same = {"variant": "nccl_cublas", "mode": "resident", "chunks": 1, "ranks": count}
            pair = study.where(graphs, **same), study.where(plain, **same)
            if all(map(len, pair)):
                yield pair


def large(found):
    """The largest matrix of the cards' own, resident: most of them against one, and the bandwidth of all.

    The efficiency is the speed-up over one card, over the number of cards.
    """
    several = sizes(found, "gemv_cards_large")
    rows = study.where(several[-1], mode="resident") if several else study.NO_ROWS
    single = study.where(rows, ranks=1)
    together = study.where(rows, ranks=rows["ranks"].max()) if len(rows) else study.NO_ROWS
    most, one = map(study.fastest, (together, single))
    card = roofs.card_bandwidth(found)
    count = most["ranks"].iloc[0] if len(most) else 1
    values = {
        "machine": machine(found),
        "matrix": matrix(rows),
        "place": setting(most),
        "method": method(most),
    }
    values |= bandwidth(most, card and card * count)
    if count == 1:
        unknown = dict.fromkeys(("efficiency", "eager/efficiency"))
        return values | dict.fromkeys(("against/one", "nccl/against/mpi"), NOTHING) | unknown
    return values | {
        "against/one": comparison(most, one, "the fastest on one GPU"),
        "nccl/against/mpi": by_nccl(together),
        "efficiency": efficiency(most, one, count),
        "eager/efficiency": efficiency(*(study.fastest(eager(some)) for some in (together, single)), count),
    }


def efficiency(most, one, count):
    """The throughput of `count` cards over `count` times that of one."""
    return percent(throughput(most) / throughput(one) / count) if len(most) and len(one) else None
