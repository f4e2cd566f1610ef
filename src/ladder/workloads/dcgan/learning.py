"""The adversarial training of a generator of digits in PyTorch (Radford, Metz and Chintala, 2016).

The discriminator mirrors the generator. Digits on plain black are easily distinguished from generated pictures, and a
perfect discriminator gives no gradient. So its inputs have added noise (Sønderby et al., Amortised MAP Inference for
Image Super-resolution, 2017), and its layers have spectral normalisation instead of batch norms, with the hinge loss
(Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018). Learning rates fall to 0 over the
second half, and the result is a moving average of the generator's weights. Pictures are digits, each in a random colour
on black. On a GPU products are in bfloat16.
"""

import itertools
import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn.functional import interpolate, leaky_relu, pad, relu
from torch.nn.utils.parametrizations import spectral_norm
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from ladder.errors import LadderError
from ladder.workloads.dcgan import layout

STEPS = 12_000
BATCH = 128
RATE, BETAS = 2e-4, (0.5, 0.999)
BLACK = -1.5  # before tanh: the pictures' background, with which the generator starts
NOISE = 0.3, 0.1  # standard deviation of the noise on the discriminator's inputs, at the start and at the end
KEPT = 0.999  # decay of the moving average per step
BITS = 11  # significant bits of a published number, so that the file compresses
SETTLED = 4096  # latents for the statistics of the batch norms
LEAST_SPREAD = 0.5  # relative to that of the digits: below it, the generator draws the same for all latents


class Generator(nn.Module):
    """Pictures (images, 3, 64, 64) in [-1, 1] from latents (images, 100), by the workload's operator."""

    def __init__(self, channels):
        super().__init__()
        layers = [(c, k) for _, c, k in layout.layers(channels)]
        self.projection = nn.Linear(layout.LATENT, layout.FIRST**2 * channels)
        self.norms = nn.ModuleList(nn.BatchNorm2d(c, eps=layout.EPSILON) for c, _ in layers)
        # PyTorch's output begins where ours does, and has an additional last row and column.
        self.layers = nn.ModuleList(nn.ConvTranspose2d(c, k, layout.TAPS, stride=2, padding=1) for c, k in layers)

    def forward(self, latents):
        values = self.project(latents)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            values = doubled(layer, norm(values))
        return values.tanh()

    def project(self, latents):
        """The projection (images, channels, 4, 4), in the memory format channels last."""
        return self.projection(latents).view(len(latents), layout.FIRST, layout.FIRST, -1).permute(0, 3, 1, 2)

    @torch.no_grad()
    def settle(self, latents):
        """Round all weights, then set the batch norms in order to the rounded statistics of these latents."""
        self.eval()
        for weights in self.parameters():
            weights.copy_(rounded(weights))
        values = self.project(latents)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            variance, mean = torch.var_mean(values, (0, 2, 3), correction=0)
            norm.running_mean.copy_(rounded(mean))
            norm.running_var.copy_(rounded(variance))
            values = doubled(layer, norm(values))

    @torch.no_grad()
    def network(self, channels):
        """The network (count,), float32, as `layout` orders it."""
        found = np.empty(layout.count(channels), np.float32)
        parts = layout.parts(found, channels)

        def write(name, values):
            parts[name][...] = values.cpu().numpy()

        write("proj_w", self.projection.weight.t())
        write("proj_b", self.projection.bias)
        for index, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=True)):
            write(f"bn{index}_beta", norm.bias)
            write(f"bn{index}_gamma", norm.weight)
            write(f"bn{index}_mean", norm.running_mean)
            write(f"bn{index}_variance", norm.running_var)
            write(f"tconv{index + 1}_w", layer.weight.permute(2, 3, 1, 0))
            write(f"tconv{index + 1}_b", layer.bias)
        return found


class Discriminator(nn.Module):
    """Logits (images,) that pictures (images, 3, 64, 64) are real."""

    def __init__(self, channels):
        super().__init__()
        *inner, colours = layout.widths(channels)
        pairs = itertools.pairwise([colours, *reversed(inner)])
        self.layers = nn.ModuleList(nn.Conv2d(c, k, layout.TAPS, stride=2, padding=2) for c, k in pairs)
        self.verdict = nn.Linear(layout.FIRST**2 * channels, 1)

    def forward(self, pictures):
        values = pictures
        for layer in self.layers:
            values = leaky_relu(layer(values), 0.2)
        return self.verdict(values.flatten(1)).squeeze(1)


def doubled(layer, values):
    """A transposed convolution of rectified values, without the additional row and column."""
    rows = 2 * values.shape[-1]
    return layer(values.relu())[:, :, :rows, :rows]


def rounded(values):
    """float32 numbers of BITS significant bits."""
    dropped = 24 - BITS
    return ((values.view(torch.int32) + (1 << dropped - 1)) & -(1 << dropped)).view(torch.float32)


def initialise(module):
    """Initialise weights as in the paper."""
    if isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
    elif hasattr(module, "weight"):
        nn.init.normal_(module.weight, 0.0, 0.02)


def coloured(digits):
    """Pictures (n, 3, 64, 64) in [-1, 1] of digits uint8 (n, 28, 28), with random hues."""
    bright = interpolate(pad(digits[:, None].float() / 255, (2, 2, 2, 2)), size=layout.SIDE, mode="bilinear")
    hues = torch.rand(len(digits), 1, device=digits.device)
    thirds = torch.arange(layout.COLOURS, device=digits.device) / layout.COLOURS
    colours = 0.65 + 0.35 * torch.cos(2 * math.pi * (hues + thirds))
    return (2 * bright * colours[:, :, None, None] - 1).contiguous(memory_format=torch.channels_last)


def train(digits, channels=layout.FULL, steps=STEPS, device="cuda", seed=1):
    """A network (count,) that draws digits, float32, from images uint8 (n, 28, 28).

    On one machine and for one seed it is reproducible up to rounding, which on a GPU depends on the order of sums.
    Raises LadderError if the generator has collapsed.
    """
    torch.manual_seed(seed)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False
    digits = torch.from_numpy(digits).to(device)
    generator, discriminator = Generator(channels).apply(initialise), Discriminator(channels).apply(initialise)
    for layer in (*discriminator.layers, discriminator.verdict):
        spectral_norm(layer)
    nn.init.constant_(generator.layers[-1].bias, BLACK)
    generator, discriminator = (one.to(device, memory_format=torch.channels_last) for one in (generator, discriminator))
    kept = AveragedModel(generator, multi_avg_fn=get_ema_multi_avg_fn(KEPT))
    optimisers = [torch.optim.Adam(one.parameters(), RATE, BETAS) for one in (discriminator, generator)]
    falling = [torch.optim.lr_scheduler.LambdaLR(one, lambda at: min(1, 2 - 2 * at / steps)) for one in optimisers]
    for step in range(steps):
        some = digits[torch.randint(len(digits), (BATCH,), device=device)]
        noise = NOISE[0] + (NOISE[1] - NOISE[0]) * step / steps
        losses = alternate(generator, discriminator, optimisers, coloured(some), noise)
        kept.update_parameters(generator)
        for one in falling:
            one.step()
        if not (step + 1) % (-(-steps // 20)):
            lost = ", ".join(f"{loss.item():.3f}" for loss in losses)
            print(f"step {step + 1} of {steps}: losses of discriminator and generator {lost}", file=sys.stderr)
    trained = kept.module
    latents = torch.randn(SETTLED, layout.LATENT, device=device)
    trained.settle(latents)
    require_varied(trained, latents[:BATCH], coloured(digits[:BATCH]))
    return trained.network(channels)


def alternate(generator, discriminator, optimisers, pictures, noise):
    """One step of the discriminator and one of the generator, with noise of this standard deviation; their losses."""

    def judged(pictures):
        return discriminator(pictures + noise * torch.randn_like(pictures))

    bfloat16 = torch.autocast(pictures.device.type, torch.bfloat16, enabled=pictures.is_cuda)
    with bfloat16:
        drawn = generator(torch.randn(len(pictures), layout.LATENT, device=pictures.device))
        found = relu(1 - judged(pictures)).mean() + relu(1 + judged(drawn.detach())).mean()
    advance(optimisers[0], found)
    with bfloat16:
        fooled = -judged(drawn).mean()
    advance(optimisers[1], fooled)
    return found, fooled


def advance(optimiser, found):
    optimiser.zero_grad(set_to_none=True)
    found.backward()
    optimiser.step()


@torch.no_grad()
def require_varied(generator, latents, pictures):
    """Refuse a generator whose pictures of latents differ much less than pictures of digits. Raises LadderError."""
    spread = (generator(latents).std(0).mean() / pictures.std(0).mean()).item()
    if not spread > LEAST_SPREAD:  # or NaN
        raise LadderError(
            f"The training has collapsed: pictures differ {spread:.2f} times as much as digits. Train again, with "
            "another seed in learning.py of dcgan if that doesn't help."
        )
