"""Products of random shapes on a GPU, compared with cuBLAS."""

from ladder.report.figures import shapes

TITLE = "Products of random shapes on a GPU"
CATEGORY = "GEMM"
CAPTION = """\
The time of cuBLAS over that of our fastest rung on random shapes, by precision: above the line the rung is faster. The
titles have the geometric mean. The sides are log-uniform from a seed, in every form. One process chooses the
rung, another one compares it with cuBLAS. In TF32, rungs that don't round operands take part, too.
"""
EXPERIMENTS = ("gemm_shapes_float64", "gemm_shapes_float32", "gemm_shapes_tf32")


def draw(study):
    """A panel for each precision."""
    return shapes.figure(study.study, "cublas")
