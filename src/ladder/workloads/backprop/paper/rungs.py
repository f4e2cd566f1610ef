"""The lines of the ladder's figure and table: variants at tunings that are fixed beforehand, so that none is picked."""

from dataclasses import dataclass

from ladder.catalogue import workloads
from ladder.report import study
from ladder.report.figures import formats

MOST = "most"  # of the threads that were measured
# What others would write.
PYTORCH = {"gradients": "autograd"}
PYTORCH_CUDA = {"graph": "on", "compiled": "on", "math": "default"}
RELIEVES = {
    "before": "",
    "loop_order": "caches",
    "temporaries": "loads and stores",
    "fusion": "caches",
    "associativity": "instructions",
    "openmp": "cores",
    "blas": "instructions",
    "tuned": "instructions, caches",
    "cuda_flat": "cores",
    "cuda_kernels": "index arithmetic, loads",
    "cuda": "instructions, launches",
    "cuda_fused": "memory, launches",
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
        return workloads.constants("backprop", self.variant).get("PEER", False)

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


LINES = (
    *(Line(name, {"flags": "O2"}) for name in ("before", "loop_order", "temporaries", "fusion", "associativity")),
    Line("associativity", {"flags": "all"}, "all flags"),
    Line("openmp", {"threads": MOST, "update": "accumulators"}),
    Line("blas", {"threads": MOST}),
    Line("tuned", {"threads": MOST}),
    Line("cuda_flat", {"index": "offsets"}),
    Line("cuda_kernels", {"operands": "shared"}),
    Line("cuda", {"product": "cublas", "graph": "on"}),
    Line("cuda_fused", {"math": "default"}),
    Line("cuda_fused", {"math": "tf32"}, "TF32"),
    Line("numpy_loop", {"threads": MOST}),
    Line("pytorch", {"threads": MOST} | PYTORCH),
    Line("pytorch_cuda", PYTORCH_CUDA),
    Line("pytorch_cuda", PYTORCH_CUDA | {"math": "tf32"}, "TF32"),
)


def line(variant, **tuning):
    """The line of a variant: its first one, or that of a tuning."""
    fitting = [one for one in LINES if one.variant == variant and tuning.items() <= one.tuning.items()]
    return fitting[0] if fitting else Line(variant, tuning)


def shown(frame):
    """[(Line, its rows)] of those that were measured, each case once."""
    found, seen = [], set()
    for one in LINES:
        rows = one.rows(frame)
        case = tuple(rows[["variant", "case"]].iloc[0]) if len(rows) else None
        if case and case not in seen:
            seen.add(case)
            found.append((one, rows))
    return found
