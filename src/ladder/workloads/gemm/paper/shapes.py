"""Products of random shapes on a GPU, compared with cuBLAS."""

from ladder.report.figures import shapes

TITLE = "Products of random shapes on a GPU"
CATEGORY = "GEMM"
CAPTION = """\
The time of cuBLAS over that of our fastest rung on random shapes, by precision: above the line the rung is faster. The
titles have the geometric mean. The sides are log-uniform from a seed, in every form. Different processes
choose the rung and compare it with cuBLAS. In TF32, rungs in full single precision take part, too.
"""
EXPERIMENTS = ("gemm_shapes_float64", "gemm_shapes_float32", "gemm_shapes_tf32")


def draw(study):
    """A panel for each precision, of the whole Study, since `study` is the chapter's."""
    return shapes.figure(study.study, "cublas")
