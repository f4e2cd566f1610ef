"""The numbers of the ceilings of memory: of the subject's threads, and of the first card with products on it."""

import numpy as np

from ladder.records.case import Case
from ladder.report import roofs, study
from ladder.report.latex import rate
from ladder.report.phrases import with_prefix
from ladder.workloads import stream
from ladder.workloads.gemm.paper.card import on_card

KERNELS = stream.SIZES["kernel"]
TRANSFERS = ("to device", "to host")
LINK = {"link-to": "to device", "link-from": "to host"}


def numbers(found):
    """Every key's value: bytes over time by kernel, and of the link between a card and its host."""
    values = {}
    for kernel in KERNELS:
        frame = found.samples("ceiling_bandwidth", kernel=kernel)
        one, best = (study.best_rate(rows, "bytes") for rows in (study.where(frame, threads=1), frame))
        values[f"ceiling/{kernel}/one"] = rate(one, "bandwidth") if one else None
        values[f"ceiling/{kernel}/best"] = rate(best, "bandwidth") if best else None
    card = on_card(found)
    rates = {kernel: roofs.card_bandwidth(card, kernel) for kernel in KERNELS}
    rates |= {name: link(card, phase) for name, phase in LINK.items()}
    values |= {f"gpu/{name}": rate(best, "bandwidth") if best else None for name, best in rates.items()}
    return with_prefix("stream", values)


def link(found, phase):
    """The best B/s at which STREAM's arrays were copied to or from the card, or None."""
    frame = found.samples("ceiling_gpu_bandwidth", phase=phase)
    sizes = {slug: moved(slug, phase) for slug in study.values(frame, "case")}
    return study.best_rate(frame.assign(moved=frame["case"].map(sizes)), "moved") if len(frame) else None


def moved(slug, phase):
    """The bytes of a case's inputs, which are copied to the card, or of its results, copied back."""
    arrays = stream.arrays(Case.parse("stream", "cuda", slug).sizes)[TRANSFERS.index(phase)]
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in arrays.values())
