"""The least time of a product: the bytes that must move, over the bandwidth of what they move through."""

from ladder.report import rates
from ladder.report.telling.chapter_study import counted
from ladder.workloads.gemv.paper.lines import GIGABYTE

COPIES = 2  # reading and writing the matrix, where it is sent through the memory of the host


def predict(found, row):
    """Seconds of a gigabyte in a case's product; None where the bandwidth isn't known."""
    rate = bandwidth(found, row)
    return GIGABYTE / rate if rate else None


def bandwidth(found, row):
    """B/s of what a case's product moves through, for every byte of the matrix; None where it isn't known."""
    ranks, is_sent = counted(row, "ranks"), row.get("mode") == "ship"
    if row["device"] in ("host", "mpi"):
        memory = rates.bandwidths(found).get(ranks * counted(row, "threads"))
        return memory / (1 + COPIES * (is_sent and ranks > 1)) if memory else None
    if is_sent:  # by NCCL all of it goes through the link of the first GPU
        link = rates.link(found)
        return link and link * (ranks if row["variant"] == "mpi_cublas" else 1)
    card = rates.card_bandwidth(found)
    return card and card * ranks
