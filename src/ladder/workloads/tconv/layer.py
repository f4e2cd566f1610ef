"""A transposed convolution as a layer of a network: its filter is set up once, and many blocks of images use it.

A variant's `layer(problem, *, <tuning>)` returns a Layer. `problem` has `device`, `filter`, `bias`, and `sizes`, whose
`images` is the maximum number of images per call. Constants of the variant declare further parameters:

- ACTIVATIONS: `activation`, one of these names, is applied to the output.
- USES with `product`: `product` is the name of a variant of `gemm`.
- OVERLAPS: with `overlaps`, the layer's kernel may start before the previous kernel has ended
  (`include/ptx/programmatic_launch.cuh`). It reads the packed filter before it waits for that kernel. The previous one
  must therefore not be a kernel of `prepare`, since these write the packed filter: a kernel that waits for its
  predecessor must run between `prepare` and the layer.
- READS_OPERANDS: the image is an array of operands of tensor cores, and `math` is their type (`operands.py`). With
  `result="operands"`, which all but `cuda_window_mma` take, so is the output, which the next layer reads.
- WRITES_UINT8: `result` is float32, or uint8 for 8-bit pixels of values in [-1, 1] (`include/output_types.cuh`).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ladder.harness.steps import Steps


class Layer(NamedTuple):
    """`run(image, out)` convolves all images; `prepare` are the steps to run whenever the filter has changed.

    `writes` is the dtype of `out`, or "operands" for an array of operands of tensor cores (`operands.py`).
    """

    run: Callable
    prepare: tuple = ()
    writes: str = "float32"


def steps(problem, layer):
    """The Steps of a case with only this layer."""
    return Steps([(None, partial(layer.run, problem.image, problem.out))], prepare=list(layer.prepare))
