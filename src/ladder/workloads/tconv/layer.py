"""A transposed convolution as a layer of a network: its filter is set up once, and many blocks of images use it.

A variant's `layer(problem, *, <tuning>)` returns it. `problem` has `device`, `filter`, `bias`, and `sizes`, whose
`images` is the maximum number at once. A variant with the literal ACTIVATIONS takes one of these as `activation`, and
applies it to its output. A variant with `product` in its USES takes the name of a variant of `gemm` as `product`. With
OVERLAPS it takes `overlaps`: its kernel begins while the previous one ends, and reads the filter before it waits, so
that a kernel that also waits must come between it and `prepare` (`include/ptx/programmatic_launch.cuh`). With BYTES it
takes `result`, float32 or uint8: values in [-1, 1] as 8-bit pixels (`include/output_types.cuh`).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ladder.harness.steps import Steps


class Layer(NamedTuple):
    """`run(image, out)` for all images of the arrays; `prepare`, the steps to run whenever the filter has changed.

    `writes` is the dtype of `out`, or "operands" if it is an array of operands.
    """

    run: Callable
    prepare: tuple = ()
    writes: str = "float32"


def steps(problem, layer):
    """The Steps of a case with only this layer."""
    return Steps([(None, partial(layer.run, problem.image, problem.out))], prepare=list(layer.prepare))
