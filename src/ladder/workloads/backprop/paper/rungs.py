"""The lines of the ladder's figure and table: variants at tunings that are fixed beforehand, so that none is picked."""

from functools import partial

from ladder.report import rungs
from ladder.report.rungs import MOST

# What others would write, and on the CPU its strongest form.
PYTORCH = {"gradients": "autograd"}
PYTORCH_BY_HAND = {"gradients": "by_hand"}
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
# The idea of a further line of a variant, by its words.
IDEAS = {
    "all flags": "the same with all flags",
    "TF32": "the same in TF32 on tensor cores",
    "by hand": "the same, gradients by hand: its strongest form",
}


class Line(rungs.Line):
    """A line whose label has words beside the threads."""

    def label(self, rows):
        """What the figure calls it."""
        label = super().label(rows)
        return label if self.words in label else f"{label}, {self.words}"


Line = partial(Line, "backprop")
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
    Line("pytorch", {"threads": MOST} | PYTORCH_BY_HAND, "by hand"),
    Line("pytorch_cuda", PYTORCH_CUDA),
    Line("pytorch_cuda", PYTORCH_CUDA | {"math": "tf32"}, "TF32"),
)


def line(variant, **tuning):
    """The line of a variant: its first one, or that of a tuning."""
    return next((one for one in LINES if one.holds(variant, tuning)), Line(variant, tuning))
