"""The lines of the ladder's figure and table: variants at tunings that are fixed beforehand, so that none is picked."""

from functools import partial
from typing import NamedTuple

from ladder.report import rungs, study
from ladder.report.figures import formats
from ladder.report.rungs import MOST

TILES = {"block": 128}
ONE_PIECE = {"chunks": 1, "graph": None}  # as one graph only where stated
HYBRID = 8  # threads of a rank
TOLD = ("binding", "schedule", "mode")  # tunings that a label has


class Line(rungs.Line):
    """A line whose tuning may say None of what is switched off, by default or where it is stated."""

    def rows(self, frame):
        stated = {name: value for name, value in self.tuning.items() if value is not None}
        rows = rungs.Line(self.workload, self.variant, stated).rows(frame)
        for name in self.tuning.keys() - stated.keys():
            rows = rows[rows[name] != "on"] if name in rows.columns else rows
        return study.where(rows, case=min(rows["case"])) if len(rows) else rows  # of several tilings the first

    def label(self, rows):
        return ", ".join([self.variant, *self.told, place(rows.iloc[0])])

    @property
    def told(self):
        """The words that tell it from others of its variant."""
        words = [self.tuning[name] for name in TOLD if name in self.tuning]
        return [*words, self.words] if self.words else words


def place(row):
    """Where a case runs: `8 threads`, `4 ranks`, `4 × 8 threads`, `2 cards`."""
    ranks = row.get("ranks")
    if row["device"] in ("cuda", "mpi_cuda"):
        return "1 card" if row["device"] == "cuda" or ranks == 1 else f"{ranks:.0f} cards"
    if row["device"] == "host":
        return formats.threads(int(row["threads"]))
    if row["variant"] == "mpi_openmp":
        return f"{ranks:.0f} × {formats.threads(int(row['threads']))}"
    return "1 rank" if ranks == 1 else f"{ranks:.0f} ranks"


class Rung(NamedTuple):
    """A line with its idea, and the resource that it relieves."""

    line: Line
    idea: str
    relieves: str = ""


Line = partial(Line, "gemv")
HOST = {
    "serial": Rung(Line("openmp", {"threads": 1}), "dot products of rows, four at once"),
    "openmp": Rung(Line("openmp", {"threads": MOST}), "rows shared by threads", "cores"),
    "dynamic": Rung(
        Line("c_openmp", {"schedule": "dynamic", "threads": MOST}), "rows taken one by one, in C", "idle cores"
    ),
    "spread": Rung(
        Line("openmp_bound", {"binding": "spread", "threads": MOST}),
        "threads bound, rows touched by their own first",
        "migration, far memory",
    ),
    "blas": Rung(Line("blas", {"threads": MOST}), "OpenBLAS", "instructions"),
    "ship": Rung(Line("mpi", {"mode": "ship", "ranks": MOST}), "rows sent to ranks with every product"),
    "hybrid-ship": Rung(
        Line("mpi_openmp", {"mode": "ship", "threads": HYBRID, "ranks": MOST}), "fewer ranks, with threads", "copies"
    ),
    "resident": Rung(Line("mpi", {"mode": "resident", "ranks": MOST}), "rows sent once, before", "copies"),
    "hybrid": Rung(
        Line("mpi_openmp", {"mode": "resident", "threads": HYBRID, "ranks": MOST}),
        "fewer ranks, with threads",
        "copies",
    ),
}
CARD = {
    "naive": Rung(Line("cuda_naive", TILES), "a thread per row", "memory"),
    "shared": Rung(Line("cuda_shared", TILES), "x staged in shared memory", "loads"),
    "coalesced": Rung(Line("cuda_coalesced", TILES), "transposed: a warp reads side by side", "sectors"),
    "warp": Rung(Line("cuda_warp", {}), "a warp or more for a row, 16 bytes a load", "idle loads"),
    "cublas": Rung(Line("cublas", {}), "cuBLAS"),
}
CARDS = {
    "mpi-ship": Rung(Line("mpi_cublas", {"mode": "ship", "ranks": MOST} | ONE_PIECE), "through the host's memory"),
    "nccl-ship": Rung(Line("nccl_cublas", {"mode": "ship", "ranks": MOST} | ONE_PIECE), "from card to card", "copies"),
    "mpi": Rung(
        Line("mpi_cublas", {"mode": "resident", "ranks": MOST} | ONE_PIECE), "rows sent once, before", "the link"
    ),
    "nccl": Rung(Line("nccl_cublas", {"mode": "resident", "ranks": MOST} | ONE_PIECE), "the same by NCCL", "the link"),
    "graph": Rung(
        Line("nccl_cublas", {"mode": "resident", "ranks": MOST, "chunks": 1, "graph": "on"}, "graph"),
        "as one CUDA graph",
        "launches",
    ),
}
LINES = HOST | CARD | CARDS


def of(key, machines):
    """The machine of a line among those chosen."""
    return machines.host if key in HOST else machines.card if key in CARD else machines.cards


def rows(key, machines):
    """The rows of a line, with the seconds of a gigabyte."""
    return LINES[key].line.rows(of(key, machines).ladder)


def changed(key, frame, **tuning):
    """The rows of a line with some of its tuning changed, of any frame."""
    line = LINES[key].line
    return Line(line.variant, line.tuning | tuning).rows(frame)
