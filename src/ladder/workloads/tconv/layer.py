"""A transposed convolution as a layer of a network: its filter is set up once, and many blocks of images go through it.

A variant's `layer(problem, *, <tuning>)` gives it. `problem` has `device`, `filter`, `bias`, and `sizes` of which
`images` is the most that come at once. A variant with the literal ACTIVATIONS takes one of these as `activation`, and
applies it to what it writes. A variant with `product` in its USES takes the name of a variant of `gemm` as `product`.
With OVERLAPS it takes `overlaps`: its kernel begins while the one before it ends, and reads the filter before it
waits, so that a kernel must come between it and `prepare`, which waits likewise (`include/programmatic_launch.cuh`).
With BYTES it takes `result`, float32 or uint8: values in [-1, 1] as colours of a screen (`include/written.cuh`).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ladder.harness.steps import Steps


class Layer(NamedTuple):
    """`run(image, out)` of as many images as the arrays have; `prepare`, steps due whenever the filter is written.

    `writes` is the dtype of `out`, or "operands" where that is an array of these.
    """

    run: Callable
    prepare: tuple = ()
    writes: str = "float32"


def steps(problem, layer):
    """The Steps of a case that is this layer alone."""
    return Steps([(None, partial(layer.run, problem.image, problem.out))], prepare=list(layer.prepare))
