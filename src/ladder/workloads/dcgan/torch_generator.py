"""The generator in PyTorch: batch norms are folded into the weights, and the memory format is channels last."""

import torch
from torch.nn.functional import conv_transpose2d, linear

from ladder.build import torch_compiler
from ladder.workloads.dcgan import folding, layout

TYPES = {"default": torch.float32, "tf32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Generator:
    """Pictures from latents; call `load` whenever the network has changed.

    With a padding of 1, PyTorch's output has an additional last row and column, which must be cut off. With a padding
    of 2 and an output padding of 1, nothing must be cut off; if the image and the filters are rotated by 180 degrees,
    the output is ours, rotated likewise. So `turned` rotates the projection and all filters, and finally the pictures
    back.
    """

    def __init__(self, network, channels, dtype=torch.float32, turned=False):
        """`network` is a tensor (count,) on the device that computes."""
        self.arrays, self.folded = (layout.arrays(array, channels) for array in (network, torch.empty_like(network)))
        self.channels, self.dtype, self.turned = channels, dtype, turned

    @torch.inference_mode()
    def load(self):
        """Fold the batch norms, and convert filters to PyTorch's order of axes and the memory format channels last."""
        folding.fold(self.arrays, self.folded)
        shape = (-1, layout.BASE_SIDE, layout.BASE_SIDE, self.channels)
        projection, bias = (self.folded[name].reshape(shape) for name in folding.parameter_names(0))
        filters = [self.folded[folding.parameter_names(index)[0]] for index in (1, 2, 3, 4)]
        if self.turned:
            projection, bias = projection.flip(1, 2), bias.flip(1, 2)
            filters = [weights.flip(0, 1) for weights in filters]
        self.projection = projection.reshape(layout.LATENT, -1).t().to(self.dtype).contiguous()
        self.bias = bias.reshape(-1).to(self.dtype)
        self.filters = [
            weights.permute(3, 2, 0, 1).to(self.dtype).contiguous(memory_format=torch.channels_last)
            for weights in filters
        ]
        self.biases = [self.folded[folding.parameter_names(index)[1]].to(self.dtype) for index in (1, 2, 3, 4)]

    def __call__(self, latents):
        """Pictures (images, 3, 64, 64) in [-1, 1], in the memory format channels last."""
        values = linear(latents.to(self.dtype), self.projection, self.bias)
        values = values.view(-1, layout.BASE_SIDE, layout.BASE_SIDE, self.channels).permute(0, 3, 1, 2)
        for weights, bias in zip(self.filters, self.biases, strict=True):
            values = self.layer(values.relu_(), weights, bias)
        values = values.tanh_()
        return values.flip(2, 3) if self.turned else values

    def layer(self, values, weights, bias):
        """A transposed convolution; with `turned`, of rotated values by rotated filters."""
        if self.turned:
            return conv_transpose2d(values, weights, bias, stride=2, padding=2, output_padding=1)
        side = 2 * values.shape[-1]
        return conv_transpose2d(values, weights, bias, stride=2, padding=1)[:, :, :side, :side]


def draw_function(generator, latents, batch, compiled):
    """The generator as a function of a batch of the latents, a tensor (images, 100) where it computes.

    Compiling it ("on") fuses the operations between the layers, for all lengths of batches. Raises LadderError if
    PyTorch can't compile it.
    """
    if compiled == "off":
        return generator
    draw = torch_compiler.compile_whole(generator.__call__)

    @torch.inference_mode()
    def draw_lengths():
        generator.load()
        for length in {len(part) for part in latents.split(batch)}:
            draw(latents[:length])

    torch_compiler.compile_ahead(draw_lengths)
    return draw


def gpu_generator(network, channels, math, turned):
    """A Generator on the current GPU; sets PyTorch's precision and enables cuDNN's autotuning."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
    return Generator(network, channels, TYPES[math], turned == "on")
