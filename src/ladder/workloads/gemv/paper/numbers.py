"""The numbers of products of a matrix and a vector: on threads, on ranks, on a card, and on several.

Each part speaks of the study's subject or, where that has not measured it, of the machine with most cases of it; that
of several cards if possible of a machine that has measured ranks on its cores too.
"""

from ladder.report.findings import answers
from ladder.workloads.gemv.paper.numbers_cards import as_graph, large, on_cards
from ladder.workloads.gemv.paper.numbers_gpu import on_gpu
from ladder.workloads.gemv.paper.numbers_ranks import findings, ranks
from ladder.workloads.gemv.paper.numbers_threads import threads
from ladder.workloads.gemv.paper.query import study_of


def numbers(found):
    """Every key's value."""
    cards = study_of(found, "gemv_cards", beside="gemv_mpi")
    graphs = study_of(found, "gemv_cards", beside="gemv_mpi", graph="on")
    parts = {
        "threads": threads(study_of(found, "gemv_threads")),
        "mpi": ranks(study_of(found, "gemv_mpi")),
        "gpu": on_gpu(study_of(found, "gemv_gpu")),
        "cards": on_cards(cards),
        "cards/large": large(study_of(found, "gemv_cards_large")),
        "cards/graph": as_graph(graphs),
        "findings": answers(findings(study_of(found, "gemv_mpi"))),
    }
    return {f"gemv/{part}/{key}": value for part, values in parts.items() for key, value in values.items()}
