"""A network of random weights, and the latents of the images.

Trivial parameters would hide faults. So the arrays of a batch norm are far from 0, from 1 and from each other, biases
aren't zero, no filter is symmetric, about half of all channels' values pass a ReLU, and a picture's values before tanh
are about 0.5. The statistics of batch norms are those of a few latents, as after a training.
"""

import functools

import numpy as np

from ladder.workloads.dcgan import exact, layout

POOL = 64  # latents from which every round selects
FEW = 8  # latents for the statistics


def latents(seed):
    """The pool (64, 100) of latents, normally distributed, float32."""
    return np.random.default_rng([seed, 0]).standard_normal((POOL, layout.LATENT), np.float32)


def order(images, seed, round):
    """The index in the pool of every image of a round, (images,)."""
    return np.random.default_rng([seed, 1, round]).integers(0, POOL, images)


def of(sizes, data):
    """The network (count,) of these sizes: the data if weights are trained. Callers must not modify it."""
    return data if sizes["weights"] == "trained" else random(sizes["channels"], sizes["seed"])


@functools.lru_cache(maxsize=2)
def random(channels, seed):
    """A network (count,) of random weights, float32; callers must not modify it."""
    generator = np.random.default_rng([seed, 2])
    network = np.empty(layout.count(channels), np.float32)
    parts, last = layout.parts(network, channels), len(layout.layers(channels))
    draw_weights(generator, parts["proj_w"], parts["proj_b"], layout.LATENT, size=2.0)
    values = exact.project(widened(parts, "proj"), latents(seed)[:FEW].astype(np.float64), exact.Exact())
    for index in range(last):
        draw_norm(generator, parts, index, values)
        values = exact.normalise(widened(parts, f"bn{index}_"), index, values, exact.Exact())
        name, size = f"tconv{index + 1}", 2.0 if index + 1 < last else 0.4
        # 25 / 4 taps contribute to an element on average.
        terms = (values**2).mean() * values.shape[-1] * layout.TAPS**2 / 4
        draw_weights(generator, parts[f"{name}_w"], parts[f"{name}_b"], terms, size)
        if index + 1 < last:
            values = exact.transpose(widened(parts, name), index + 1, values, exact.Exact())
    network.flags.writeable = False
    return network


def draw_weights(generator, weights, bias, terms, size):
    """Weights whose sums of products have a standard deviation of `size`, and biases of about half of that."""
    weights[...] = generator.uniform(-1, 1, weights.shape) * size * (3 / terms) ** 0.5
    bias[...] = signs(generator, bias.shape) * generator.uniform(0.3, 0.6, bias.shape) * size


def draw_norm(generator, parts, index, values):
    """A batch norm close to the statistics of its inputs."""
    beta, gamma, mean, variance = (parts[f"bn{index}_{name}"] for name in ("beta", "gamma", "mean", "variance"))
    deviation = values.std(axis=(0, 1, 2))
    mean[...] = values.mean(axis=(0, 1, 2)) + 0.2 * signs(generator, mean.shape) * deviation
    variance[...] = generator.uniform(0.6, 1.2, variance.shape) * deviation**2
    gamma[...] = generator.uniform(1.4, 2.2, gamma.shape)
    beta[...] = signs(generator, beta.shape) * generator.uniform(0.3, 0.6, beta.shape)


def signs(generator, shape):
    return generator.choice([-1.0, 1.0], shape)


def widened(parts, prefix):
    """The arrays of one layer in float64."""
    return {name: array.astype(np.float64) for name, array in parts.items() if name.startswith(prefix)}
