"""The pictures of all latents from which a round selects, in plain float64 NumPy, and a bound for rounding errors.

The network is evaluated twice: exactly, and with random errors as large as a precision's rounding, wherever a variant
rounds. The largest difference of the two, the drift, times CONFIDENCE of `ladder.harness.validation` is the bound.
"""

import numpy as np

from ladder.harness.validation import CONFIDENCE
from ladder.workloads.dcgan import exact, layout, network

PRECISIONS = ("float32", "tf32x3", "tf32", "float16", "bfloat16")


def compute(sizes, data):
    """{"pictures": (64, 64, 64, 3), "drift_float32": (), ...}: float64 arrays for an .npz file."""
    arrays = layout.arrays(network.from_sizes(sizes, data).astype(np.float64), sizes["channels"])
    latents = network.latents(sizes["seed"]).astype(np.float64)
    pictures = exact.generate(arrays, latents, exact.ExactArithmetic())
    drifts = {
        name: np.abs(exact.generate(arrays, latents, exact.NoisyArithmetic(name, 0)) - pictures) for name in PRECISIONS
    }
    return {"pictures": pictures} | {f"drift_{name}": drift.max() for name, drift in drifts.items()}


def bound(reference, precision):
    """The largest error that a picture's elements may have in a precision."""
    return CONFIDENCE * float(reference[f"drift_{precision}"])
