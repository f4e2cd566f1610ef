"""Peer: PyTorch's transposed convolution on a GPU by cuDNN's fastest algorithm, channels last.

Two forms give our result. By default, the padding is 1: the output begins where ours does, and an additional last row
and column are cut off. With `turned`, filter and image are rotated by 180 degrees before the timed call, the padding is
2, and `output_padding` adds the last row and column, which a padding of 2 lacks: the output is ours, rotated by 180
degrees. `math` is the precision. PyTorch writes to an array of its own; the phase `copy`, not part of cuDNN, copies it
to the caller's.
"""

from typing import Literal

import torch
from torch.nn.functional import conv_transpose2d

from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("torch", "cupy")
TYPES = {"default": None, "tf32": None, "float16": torch.float16, "bfloat16": torch.bfloat16}


def setup(
    problem: Problem,
    *,
    math: Literal["default", "tf32", "float16", "bfloat16"] = "default",
    turned: Literal["off", "on"] = "off",
) -> Run:
    """The timed convolution and the copy to the caller's array; operands are rotated, converted and laid out ahead."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = math == "tf32"
    arrays = (problem.image, problem.filter, problem.bias, problem.out)
    image, weights, bias, out = map(torch.from_dlpack, arrays)
    image, weights, out = image.permute(0, 3, 1, 2), weights.permute(3, 2, 0, 1), out.permute(0, 3, 1, 2)
    side = out.shape[-1]
    tensors: dict[str, torch.Tensor] = {}
    padding = {"padding": 2, "output_padding": 1} if turned == "on" else {"padding": 1}

    def operand(array):
        array = array.flip(2, 3) if turned == "on" and array.dim() == 4 else array
        return array.to(TYPES[math] or array.dtype).contiguous(memory_format=layout(array))

    @torch.inference_mode()
    def convert_operands():
        tensors.update(image=operand(image), weights=operand(weights), bias=operand(bias))

    @torch.inference_mode()
    def convolve():
        tensors["result"] = conv_transpose2d(tensors["image"], tensors["weights"], tensors["bias"], stride=2, **padding)

    @torch.inference_mode()
    def copy():
        result = tensors["result"]
        out.copy_(result.flip(2, 3) if turned == "on" else result[:, :, :side, :side])

    return Steps([("product", convolve), ("copy", copy)], prepare=[("operands", convert_operands)])


def layout(array):
    """An operand's memory layout: images and filters channels last."""
    return torch.channels_last if array.dim() == 4 else torch.contiguous_format
