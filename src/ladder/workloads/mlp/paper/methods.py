"""A batch of the deep network by the implementations of the earlier study, stacked by operation."""

from ladder.report.figures import looks
from ladder.report.telling import phase_bars
from ladder.workloads.mlp.paper.claims import deep_launches, deep_net
from ladder.workloads.mlp.paper.lines import PEAK

TITLE = "A batch by all methods, on the CPU and on the GPU"
CAPTION = """\
The time of a batch of the deep network with each of the earlier study's products (on the CPU: one thread and twelve),
stacked by operation: the products for the forward pass (`nn`), the gradient (`tn`) and the delta (`nt`), then all other
operations. Each panel has its own scale. A dot is the whole call with its 95 % interval, hollow if not converged. On
the GPU, kernels are launched one by one. If the sum of the operations, each timed separately, differs from the time of
the call by more than a fifth, only the dot is shown.
"""
EXPERIMENTS = ("mlp_deep",)
OPERATIONS = {"nn": "blue", "tn": "green", "nt": "pink", "activation": "orange", "update": "red", "bias": "brown"}
OPERATIONS |= {"gather": "yellow", "loss": "sky"}
COLOURS = {name: looks.lighten(looks.COLOURS[colour], 0.1) for name, colour in OPERATIONS.items()}
HOST_PRODUCTS = {"openmp": "plain loops", "blas": "OpenBLAS"}
GPU_PRODUCTS = {"cuda_naive": "naive", "cuda_shared": "shared memory", "cublas": "cuBLAS"}


def draw(study):
    """A panel of each product of the host, on one thread and on several, and one of the GPU."""
    panels = []
    for name, heading in HOST_PRODUCTS.items():
        bars = [("", deep_net(name, count)) for count in (1, PEAK)]
        panels.append(phase_bars.panel(study, "A batch on the CPU", {heading: bars}))
    kernels = [(label, deep_launches(name)) for name, label in GPU_PRODUCTS.items()]
    panels.append(phase_bars.panel(study, "A batch on the GPU", {"one by one": kernels}))
    names = dict.fromkeys(study.machine(role).machine_name for role in ("host", "gpu"))
    return phase_bars.figure({" and ".join(filter(None, names)): panels}, COLOURS, "the methods of the earlier study")
