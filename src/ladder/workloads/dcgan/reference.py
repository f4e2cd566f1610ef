"""The pictures of the pool in plain float64 NumPy, and a bound for the effect of rounding.

The network runs without and with errors of a precision's size wherever a variant rounds. The bound of a picture's
elements is the largest distance between the two, times the confidence factor of `ladder.harness.validation`.
"""

import numpy as np

from ladder.harness.validation import CONFIDENCE
from ladder.workloads.dcgan import exact, layout, network

PRECISIONS = ("float32", "tf32x3", "tf32", "float16", "bfloat16")


def compute(sizes, data):
    """{"pictures": (64, 64, 64, 3), "drift_float32": (), ...}: float64 arrays for an .npz file."""
    parts = layout.parts(network.of(sizes, data).astype(np.float64), sizes["channels"])
    latents = network.latents(sizes["seed"]).astype(np.float64)
    pictures = exact.generate(parts, latents, exact.Exact())
    drifts = {name: np.abs(exact.generate(parts, latents, exact.Noisy(name, 0)) - pictures) for name in PRECISIONS}
    return {"pictures": pictures} | {f"drift_{name}": drift.max() for name, drift in drifts.items()}


def bound(reference, precision):
    """The bound of a picture's elements in a precision."""
    return CONFIDENCE * float(reference[f"drift_{precision}"])
