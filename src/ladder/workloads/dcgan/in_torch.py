"""The generator in PyTorch, batch norms folded into the weights, images channels last."""

import torch
from torch.nn.functional import conv_transpose2d, linear

from ladder.workloads.dcgan import folding, layout


class Generator:
    """Pictures from latents; `load` is due whenever the network is written."""

    def __init__(self, network, channels):
        """`network` is a tensor (count,) on the device that works."""
        self.given, self.folded = (layout.parts(one, channels) for one in (network, torch.empty_like(network)))
        self.channels = channels

    @torch.inference_mode()
    def load(self):
        """Fold the batch norms, and put filters in PyTorch's order of axes and the memory in channels last."""
        folding.fold(self.given, self.folded)
        self.projection = self.folded["proj_w"].t().contiguous()
        self.filters = [
            self.folded[f"tconv{index}_w"].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            for index in (1, 2, 3, 4)
        ]

    def __call__(self, latents):
        """Pictures (images, 3, 64, 64) in [-1, 1], their memory channels last.

        With a padding of 1 an output of one row and column more begins where ours does; these are cut off.
        """
        values = linear(latents, self.projection, self.folded["proj_b"])
        values = values.view(-1, layout.FIRST, layout.FIRST, self.channels).permute(0, 3, 1, 2)
        for index, weights in enumerate(self.filters, start=1):
            rows = 2 * values.shape[-1]
            found = conv_transpose2d(values.relu_(), weights, self.folded[f"tconv{index}_b"], stride=2, padding=1)
            values = found[:, :, :rows, :rows]
        return values.tanh_()
