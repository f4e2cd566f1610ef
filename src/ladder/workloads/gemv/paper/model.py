"""The minimum time of a product: the bytes that must move, over the bandwidth of the memory or link."""

from ladder.report.telling.lines import count_or_one
from ladder.store import rates
from ladder.store.study import values
from ladder.workloads.gemv.paper.lines import GIGABYTE, SOURCES

COPY_ACCESSES = 2  # to the matrix, a read and a write, when it is sent through the memory of the host


def predict(machine, row):
    """Seconds per gigabyte of a case's product; None if the bandwidth isn't known."""
    ranks, is_sent, on_host = count_or_one(row, "ranks"), row.get("mode") == "ship", row["device"] in ("host", "mpi")
    if is_sent and not on_host:  # with NCCL the whole matrix crosses the link of the first GPU
        rate, links = rates.link(machine), ranks if row["variant"] == "mpi_cublas" else 1
        return rate and GIGABYTE / (rate * links)
    rate = rates.memory_of(machine, row, ranks * count_or_one(row, "threads"))
    accesses = 1 + COPY_ACCESSES * (is_sent and ranks > 1)
    return rate and GIGABYTE / (rate / accesses if on_host else rate * ranks)


def floor(machine, row):
    """Seconds per gigabyte at the memory bandwidth of all GPUs of a machine; None if it isn't known."""
    rate = max(bandwidth_by_gpus(machine).values(), default=None)
    return rate and GIGABYTE / rate


def bandwidth_by_gpus(machine):
    """{number of GPUs: B/s of their memory}, for one GPU and for all on which products were measured."""
    rate, most_gpus = rates.gpu_bandwidth(machine), max(values(SOURCES["gpus"].rows(machine), "ranks"), default=1)
    return {count: count * rate for count in (1, most_gpus)} if rate else {}
