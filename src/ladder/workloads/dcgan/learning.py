"""The adversarial training of a generator of digits in PyTorch (Radford, Metz and Chintala, 2016).

The training pictures are digits, each in a random colour on black. The discriminator mirrors the generator. It easily
distinguishes digits on plain black from generated pictures, and a perfect discriminator gives no gradient. So its
inputs have added noise (Sønderby et al., Amortised MAP Inference for Image Super-resolution, 2017), and its layers have
spectral normalisation instead of batch norms, with the hinge loss (Miyato et al., Spectral Normalization for Generative
Adversarial Networks, 2018). The learning rates fall to 0 over the second half of the training. The result is a moving
average of the generator's weights. On a GPU, products are in bfloat16.
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
LEARNING_RATE, BETAS = 2e-4, (0.5, 0.999)
BLACK_BIAS = -1.5  # initial bias of the last layer: the background of a picture, before tanh
NOISE = 0.3, 0.1  # standard deviation of the noise on the discriminator's inputs, at the start and at the end
DECAY = 0.999  # of the moving average, per step
BITS = 11  # significant bits of a published number, so that the file compresses
STATISTICS_LATENTS = 4096  # from which the statistics of the batch norms are computed
MIN_SPREAD = 0.5  # of pictures, relative to that of digits; below it, the generator has collapsed to one picture


class Generator(nn.Module):
    """Pictures (images, 3, 64, 64) in [-1, 1] from latents (images, 100), by the workload's operations."""

    def __init__(self, channels):
        super().__init__()
        layers = [(c, k) for _, c, k in layout.layers(channels)]
        self.projection = nn.Linear(layout.LATENT, layout.BASE_SIDE**2 * channels)
        self.norms = nn.ModuleList(nn.BatchNorm2d(c, eps=layout.EPSILON) for c, _ in layers)
        # With this padding, PyTorch's output has an additional last row and column, which `upsample` cuts off.
        self.layers = nn.ModuleList(
            nn.ConvTranspose2d(c, k, layout.FILTER_SIDE, stride=2, padding=1) for c, k in layers
        )

    def forward(self, latents):
        values = self.project(latents)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            values = upsample(layer, norm(values))
        return values.tanh()

    def project(self, latents):
        """The projection (images, channels, 4, 4), in the memory format channels last."""
        return self.projection(latents).view(len(latents), layout.BASE_SIDE, layout.BASE_SIDE, -1).permute(0, 3, 1, 2)

    @torch.no_grad()
    def calibrate(self, latents):
        """Round all weights, then set each batch norm to the rounded statistics of its inputs for these latents."""
        self.eval()
        for weights in self.parameters():
            weights.copy_(round_bits(weights))
        values = self.project(latents)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            variance, mean = torch.var_mean(values, (0, 2, 3), correction=0)
            norm.running_mean.copy_(round_bits(mean))
            norm.running_var.copy_(round_bits(variance))
            values = upsample(layer, norm(values))

    @torch.no_grad()
    def network(self, channels):
        """The network (count,), float32, as `layout` orders it."""
        weights = np.empty(layout.count(channels), np.float32)
        arrays = layout.arrays(weights, channels)

        def write(name, values):
            arrays[name][...] = values.cpu().numpy()

        write("proj_w", self.projection.weight.t())
        write("proj_b", self.projection.bias)
        for index, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=True)):
            write(f"bn{index}_beta", norm.bias)
            write(f"bn{index}_gamma", norm.weight)
            write(f"bn{index}_mean", norm.running_mean)
            write(f"bn{index}_variance", norm.running_var)
            write(f"tconv{index + 1}_w", layer.weight.permute(2, 3, 1, 0))
            write(f"tconv{index + 1}_b", layer.bias)
        return weights


class Discriminator(nn.Module):
    """Logits (images,) that pictures (images, 3, 64, 64) are real."""

    def __init__(self, channels):
        super().__init__()
        pairs = itertools.pairwise(reversed(layout.widths(channels)))
        self.layers = nn.ModuleList(nn.Conv2d(c, k, layout.FILTER_SIDE, stride=2, padding=2) for c, k in pairs)
        self.logit = nn.Linear(layout.BASE_SIDE**2 * channels, 1)

    def forward(self, pictures):
        values = pictures
        for layer in self.layers:
            values = leaky_relu(layer(values), 0.2)
        return self.logit(values.flatten(1)).squeeze(1)


def upsample(layer, values):
    """ReLU and a transposed convolution, which doubles rows and columns."""
    side = 2 * values.shape[-1]
    return layer(values.relu())[:, :, :side, :side]


def round_bits(values):
    """float32 values, rounded to BITS significant bits."""
    zero_bits = 24 - BITS  # a float32 has 24 significant bits
    return ((values.view(torch.int32) + (1 << zero_bits - 1)) & -(1 << zero_bits)).view(torch.float32)


def initialise(module):
    """Initialise weights as Radford, Metz and Chintala do."""
    if isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
    elif hasattr(module, "weight"):
        nn.init.normal_(module.weight, 0.0, 0.02)


def colour_digits(digits):
    """Pictures (n, 3, 64, 64) in [-1, 1] of digits uint8 (n, 28, 28), with random hues."""
    brightness = interpolate(
        pad(digits[:, None].float() / 255, (2, 2, 2, 2)), size=layout.PICTURE_SIDE, mode="bilinear"
    )
    hues = torch.rand(len(digits), 1, device=digits.device)
    thirds = torch.arange(layout.COLOURS, device=digits.device) / layout.COLOURS
    colours = 0.65 + 0.35 * torch.cos(2 * math.pi * (hues + thirds))
    return (2 * brightness * colours[:, :, None, None] - 1).contiguous(memory_format=torch.channels_last)


def train(digits, channels=layout.CHANNELS, steps=STEPS, device="cuda", seed=1):
    """A network (count,) that draws digits, float32, from images uint8 (n, 28, 28).

    On one machine and for one seed the result is reproducible up to rounding: on a GPU, the order of sums varies.
    Raises LadderError if the generator has collapsed.
    """
    torch.manual_seed(seed)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False
    digits = torch.from_numpy(digits).to(device)
    generator, discriminator = Generator(channels).apply(initialise), Discriminator(channels).apply(initialise)
    for layer in (*discriminator.layers, discriminator.logit):
        spectral_norm(layer)
    nn.init.constant_(generator.layers[-1].bias, BLACK_BIAS)
    generator, discriminator = (
        model.to(device, memory_format=torch.channels_last) for model in (generator, discriminator)
    )
    average = AveragedModel(generator, multi_avg_fn=get_ema_multi_avg_fn(DECAY))
    optimisers = [torch.optim.Adam(model.parameters(), LEARNING_RATE, BETAS) for model in (discriminator, generator)]
    schedulers = [
        torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / steps))
        for optimiser in optimisers
    ]
    for step in range(steps):
        batch = digits[torch.randint(len(digits), (BATCH,), device=device)]
        noise = NOISE[0] + (NOISE[1] - NOISE[0]) * step / steps
        losses = alternate(generator, discriminator, optimisers, colour_digits(batch), noise)
        average.update_parameters(generator)
        for scheduler in schedulers:
            scheduler.step()
        if not (step + 1) % (-(-steps // 20)):
            loss_text = ", ".join(f"{loss.item():.3f}" for loss in losses)
            print(f"step {step + 1} of {steps}: losses of discriminator and generator {loss_text}", file=sys.stderr)
    trained = average.module
    latents = torch.randn(STATISTICS_LATENTS, layout.LATENT, device=device)
    trained.calibrate(latents)
    require_variety(trained, latents[:BATCH], colour_digits(digits[:BATCH]))
    return trained.network(channels)


def alternate(generator, discriminator, optimisers, pictures, noise):
    """Train the discriminator and the generator one step each; return their losses.

    `noise` is the standard deviation of the noise on the discriminator's inputs.
    """

    def logits(pictures):
        return discriminator(pictures + noise * torch.randn_like(pictures))

    bfloat16 = torch.autocast(pictures.device.type, torch.bfloat16, enabled=pictures.is_cuda)
    with bfloat16:
        generated = generator(torch.randn(len(pictures), layout.LATENT, device=pictures.device))
        discriminator_loss = relu(1 - logits(pictures)).mean() + relu(1 + logits(generated.detach())).mean()
    advance(optimisers[0], discriminator_loss)
    with bfloat16:
        generator_loss = -logits(generated).mean()
    advance(optimisers[1], generator_loss)
    return discriminator_loss, generator_loss


def advance(optimiser, loss):
    """Minimise a loss by one step of an optimiser."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


@torch.no_grad()
def require_variety(generator, latents, pictures):
    """Raise LadderError for a generator whose pictures differ from each other much less than pictures of digits."""
    spread = (generator(latents).std(0).mean() / pictures.std(0).mean()).item()
    if not spread > MIN_SPREAD:  # or NaN
        raise LadderError(
            f"The training has collapsed: pictures differ {spread:.2f} times as much as digits. Train again and, if "
            "that doesn't help, with another seed in learning.py of dcgan."
        )
