"""The least time of a product: the bytes that must move, over the bandwidth of what they move through."""

from dataclasses import dataclass, field

import pandas as pd

from ladder.report import roofs, study
from ladder.report.study import best_rate
from ladder.workloads.stream.paper.ceilings import bandwidths

COPIES = 2  # reading and writing the matrix, where it is sent through the memory of the host
STREAMS = "ceiling_bandwidth"
LINK = "ceiling_gpu_bandwidth"  # whose input is copied to the card before it is read


@dataclass(frozen=True)
class Rates:
    """B/s of the host's memory by threads, of a card's memory, and of the link to a card; None where unknown."""

    memory: dict = field(default_factory=dict)
    card: float | None = None
    link: float | None = None


def of_study(found):
    """The rates of a study's subject, from the tables."""
    counts = study.values(found.samples(STREAMS), "threads")
    memory = {count: roofs.bandwidth(found, count) for count in counts}
    return Rates(memory, roofs.card_bandwidth(found), link(found))


def of_ceilings(ceilings, found):
    """The same from a machine's ceilings, as figures are given them, and a study of the tables of LINK."""
    card = max(bandwidths(ceilings, device="cuda").values(), default=None)
    return Rates(bandwidths(ceilings), card, link(found))


def link(found):
    """B/s of copies to a card: an array that is read alone is copied once."""
    return best_rate(found.samples(LINK, phase="to device", kernel="read"), "bytes")


def cores(row):
    """The cores that a case of the host works on: its threads, times its ranks."""
    return counted(row, "threads") * counted(row, "ranks")


def counted(row, name):
    """A number of ranks or threads; one where a case states none."""
    value = row.get(name, 1)
    return 1 if pd.isna(value) else int(value)


def bandwidth(row, rates):
    """B/s of what a case's product moves through, for every byte of the matrix; None where it isn't known."""
    is_sent = row.get("mode") == "ship" and counted(row, "ranks") > 1
    if row["device"] in ("host", "mpi"):
        memory = rates.memory.get(cores(row))
        return memory / (1 + COPIES * is_sent) if memory else None
    if row.get("mode") == "ship":  # by NCCL all of it goes through the link of the first card
        return rates.link and rates.link * (counted(row, "ranks") if row["variant"] == "mpi_cublas" else 1)
    return rates.card and rates.card * counted(row, "ranks")


def seconds(row, rates, count):
    """Seconds of so many bytes in a case's product; None where the bandwidth isn't known."""
    found = bandwidth(row, rates)
    return count / found if found else None
