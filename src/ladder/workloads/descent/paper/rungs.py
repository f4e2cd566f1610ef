"""The lines of the ladder's figure and table: variants at tunings that are fixed beforehand, so that none is picked."""

from dataclasses import dataclass

from ladder.catalogue import workloads
from ladder.report import study
from ladder.report.figures import formats
from ladder.workloads.descent.paper import model, query

SMALL = "cuda_version1"  # which solves small systems alone
MOST = "most"  # of the threads that were measured
RELIEVES = {
    "openmp": "cores",
    "blas": "instructions",
    "cuda_version1": "cores, in one block",
    "cuda_version2": "cores",
    "cublas": "traffic, trips to the host",
    "cuda_fused": "launches, traffic",
    "cuda_persistent": "launches, memory",
    "cuda_cluster": "barriers",
    "cuda_symmetric": "memory",
}


@dataclass(frozen=True)
class Line:
    """A variant at one tuning; `words` tell it from its neighbours of the same variant."""

    variant: str
    tuning: dict
    words: str = ""

    @property
    def is_peer(self):
        """Whether it stands beside the ladder."""
        return workloads.constants("descent", self.variant).get("PEER", False)

    def rows(self, frame):
        """Its rows among those of several variants."""
        rows = study.where(frame, variant=self.variant)
        rows = study.where(rows, **{name: value for name, value in self.tuning.items() if value != MOST})
        most = max(study.values(rows, "threads"), default=None)
        return study.where(rows, threads=most) if MOST in self.tuning.values() else rows

    def label(self, rows):
        """What the figure calls it."""
        words = self.words
        if self.tuning.get("threads") == MOST:
            words = formats.threads(int(rows["threads"].iloc[0]))
        return f"{self.variant}, {words}" if words else self.variant

    def predicted(self, row, reading):
        """The model's seconds of an iteration of a case, where A is read at so many B/s; or None."""
        size = query.size_of(row) * (1 + self.tuning.get("recompute", 0))
        return model.seconds(self.variant, self.tuning.get("graph"), int(row["n"]), size, reading)


LINES = (
    Line("openmp", {"threads": 1, "recompute": 1}, "two products"),
    Line("openmp", {"threads": 1, "recompute": 0}, "1 thread"),
    Line("openmp", {"threads": MOST, "recompute": 0}),
    Line("blas", {"threads": MOST}),
    Line("cuda_version2", {"block": 128}, "blocks of 128"),
    Line("cublas", {"graph": "off"}, "one by one"),
    Line("cublas", {"graph": "on"}, "as a graph"),
    Line("cuda_fused", {"graph": "off"}, "one by one"),
    Line("cuda_fused", {"graph": "on"}, "as a graph"),
    Line("cuda_persistent", {}),
    Line("cuda_cluster", {}),
    Line("cuda_symmetric", {}),
    Line("numpy_loop", {"threads": 1}, "1 thread"),
    Line("cupy_loop", {}),
)


def line(variant, **tuning):
    """The line of a variant: its last one, or that of a tuning."""
    fitting = [one for one in LINES if one.variant == variant and tuning.items() <= one.tuning.items()]
    return fitting[-1] if fitting else Line(variant, tuning)


def shown(frame, reading):
    """[(Line, its rows, the model's seconds)] of those that were measured, each case once; seconds an iteration's.

    `reading(device, threads)` gives the B/s at which a device reads, or None.
    """
    found, seen = [], set()
    for one in LINES:
        rows = one.rows(frame)
        case = tuple(rows[["variant", "case"]].iloc[0]) if len(rows) else None
        if case and case not in seen:
            seen.add(case)
            first = rows.iloc[0]
            threads = int(first["threads"]) if first["device"] == "host" else 1
            predicted = one.predicted(first, reading(first["device"], threads))
            found.append((one, rows, predicted))
    return found
