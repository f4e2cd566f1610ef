"""A network of random weights, and the latents of the images.

Trivial parameters would hide faults. So the arrays of a batch norm are far from 0, from 1 and from each other, biases
aren't zero, no filter is symmetric, about half of all values pass a ReLU, and values before tanh have a magnitude of
about 0.5. As after a training, the mean and variance of a batch norm are close to those of its inputs.
"""

import functools

import numpy as np

from ladder.workloads.dcgan import exact, layout

POOL = 64  # latents from which every round selects
STATISTICS_LATENTS = 8  # from which the batch norms' statistics are computed


def latents(seed):
    """The pool (64, 100) of latents, normally distributed, float32."""
    return np.random.default_rng([seed, 0]).standard_normal((POOL, layout.LATENT), np.float32)


def pool_indices(images, seed, round):
    """The index in the pool of every image of a round (images,)."""
    return np.random.default_rng([seed, 1, round]).integers(0, POOL, images)


def from_sizes(sizes, data):
    """The network (count,) of these sizes; `data` is the trained one. Callers must not modify it."""
    return data if sizes["weights"] == "trained" else random_network(sizes["channels"], sizes["seed"])


@functools.lru_cache(maxsize=2)
def random_network(channels, seed):
    """A network (count,) of random weights, float32. Callers must not modify it."""
    generator = np.random.default_rng([seed, 2])
    network = np.empty(layout.count(channels), np.float32)
    arrays, layers = layout.arrays(network, channels), len(layout.layers(channels))
    draw_weights(generator, arrays["proj_w"], arrays["proj_b"], layout.LATENT, deviation=2.0)
    values = latents(seed)[:STATISTICS_LATENTS].astype(np.float64)
    values = exact.project(to_float64(arrays, "proj"), values, exact.ExactArithmetic())
    for index in range(layers):
        draw_norm(generator, arrays, index, values)
        values = exact.normalise(to_float64(arrays, f"bn{index}_"), index, values, exact.ExactArithmetic())
        name, deviation = f"tconv{index + 1}", 2.0 if index + 1 < layers else 0.4
        # On average, a quarter of a filter's taps contribute to an element.
        sum_of_squares = (values**2).mean() * values.shape[-1] * layout.FILTER_SIDE**2 / 4
        draw_weights(generator, arrays[f"{name}_w"], arrays[f"{name}_b"], sum_of_squares, deviation)
        if index + 1 < layers:
            values = exact.transposed_convolution(to_float64(arrays, name), index + 1, values, exact.ExactArithmetic())
    network.flags.writeable = False
    return network


def draw_weights(generator, weights, bias, sum_of_squares, deviation):
    """Write weights whose sums of products have the standard deviation `deviation`, and biases of about half of that.

    `sum_of_squares` is that of the inputs of an element.
    """
    weights[...] = generator.uniform(-1, 1, weights.shape) * deviation * (3 / sum_of_squares) ** 0.5
    bias[...] = signs(generator, bias.shape) * generator.uniform(0.3, 0.6, bias.shape) * deviation


def draw_norm(generator, arrays, index, values):
    """Write a batch norm whose mean and variance are close to those of its inputs."""
    beta, gamma, mean, variance = (arrays[f"bn{index}_{name}"] for name in ("beta", "gamma", "mean", "variance"))
    deviation = values.std(axis=(0, 1, 2))
    mean[...] = values.mean(axis=(0, 1, 2)) + 0.2 * signs(generator, mean.shape) * deviation
    variance[...] = generator.uniform(0.6, 1.2, variance.shape) * deviation**2
    gamma[...] = generator.uniform(1.4, 2.2, gamma.shape)
    beta[...] = signs(generator, beta.shape) * generator.uniform(0.3, 0.6, beta.shape)


def signs(generator, shape):
    """Random numbers, each -1 or 1."""
    return generator.choice([-1.0, 1.0], shape)


def to_float64(arrays, prefix):
    """The arrays whose names start with `prefix`, in float64."""
    return {name: array.astype(np.float64) for name, array in arrays.items() if name.startswith(prefix)}
