"""The generator in PyTorch, batch norms folded into the weights, images channels last."""

import torch
from torch.nn.functional import conv_transpose2d, linear

from ladder.workloads.dcgan import folding, layout

TYPES = {"default": torch.float32, "tf32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Generator:
    """Pictures from latents; `load` is due whenever the network is written.

    With a padding of 1 an output of one row and column more begins where ours does: these are cut off. An output of
    ours upside down and back to front is what a padding of 2 with one row and column more behind gives: where `turned`,
    the projection and all filters are turned round, and in the end the pictures.
    """

    def __init__(self, network, channels, dtype=torch.float32, turned=False):
        """`network` is a tensor (count,) on the device that works."""
        self.given, self.folded = (layout.parts(one, channels) for one in (network, torch.empty_like(network)))
        self.channels, self.dtype, self.turned = channels, dtype, turned

    @torch.inference_mode()
    def load(self):
        """Fold the batch norms, and put filters in PyTorch's order of axes and the memory in channels last."""
        folding.fold(self.given, self.folded)
        shape = (-1, layout.FIRST, layout.FIRST, self.channels)
        projection, bias = (self.folded[name].reshape(shape) for name in folding.names(0))
        filters = [self.folded[folding.names(index)[0]] for index in (1, 2, 3, 4)]
        if self.turned:
            projection, bias = projection.flip(1, 2), bias.flip(1, 2)
            filters = [weights.flip(0, 1) for weights in filters]
        self.projection = projection.reshape(layout.LATENT, -1).t().to(self.dtype).contiguous()
        self.bias = bias.reshape(-1).to(self.dtype)
        self.filters = [
            weights.permute(3, 2, 0, 1).to(self.dtype).contiguous(memory_format=torch.channels_last)
            for weights in filters
        ]
        self.biases = [self.folded[folding.names(index)[1]].to(self.dtype) for index in (1, 2, 3, 4)]

    def __call__(self, latents):
        """Pictures (images, 3, 64, 64) in [-1, 1], their memory channels last."""
        values = linear(latents.to(self.dtype), self.projection, self.bias)
        values = values.view(-1, layout.FIRST, layout.FIRST, self.channels).permute(0, 3, 1, 2)
        for weights, bias in zip(self.filters, self.biases, strict=True):
            values = self.layer(values.relu_(), weights, bias)
        values = values.tanh_()
        return values.flip(2, 3) if self.turned else values

    def layer(self, values, weights, bias):
        """A transposed convolution; turned round where the whole generator is."""
        if self.turned:
            return conv_transpose2d(values, weights, bias, stride=2, padding=2, output_padding=1)
        rows = 2 * values.shape[-1]
        return conv_transpose2d(values, weights, bias, stride=2, padding=1)[:, :, :rows, :rows]


def drawing(generator, compiled):
    """The function that draws, compiled where that is "on", which fuses what lies between the layers."""
    return torch.compile(generator.__call__, dynamic=False) if compiled == "on" else generator


def on_card(network, channels, math, turned):
    """A Generator on the current card, its arithmetic set and cuDNN's algorithms to be measured."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = math == "tf32"
    return Generator(network, channels, TYPES[math], turned == "on")
