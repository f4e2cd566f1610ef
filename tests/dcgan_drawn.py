"""A stand-in for the generator of pictures that needs no GPU, a look-up, and checks of variants that copy to the host.

The stand-in puts its work into the streams of `fake_cupy`, CuPy's stand-in.
"""

import itertools

import numpy as np

from ladder import devices
from ladder.catalogue import workloads
from ladder.harness import validation, worker
from ladder.harness.steps import Steps, in_order
from ladder.workloads import dcgan
from ladder.workloads.dcgan import network, reference

IMAGES = (1, 2, 17, 101)
KINDS = ("float32", "uint8")
CHANNELS = 8


class Drawing:
    """A generator's stand-in: looks up the reference's pictures of its latent vectors, if the network is right."""

    exact = None
    prepare = ((None, lambda: None),)

    def __init__(self, weights, sizes, **how):
        self.weights, self.sizes = weights, sizes

    def steps(self, latents, pictures):
        ends = np.cumsum([len(batch) for batch in pictures])
        return [self.batch(part, batch) for part, batch in zip(np.split(latents, ends[:-1]), pictures, strict=True)]

    def batch(self, latents, pictures):
        from cupy import current

        return [(None, lambda: current().submit(lambda: self.draw(latents, pictures)))]

    def draw(self, latents, pictures):
        pool = network.latents(self.sizes["seed"])
        indices = [index for latent in latents for index in np.flatnonzero((pool == latent).all(axis=1))]
        is_right = np.array_equal(self.weights, network.random(CHANNELS, self.sizes["seed"]))
        if is_right and len(indices) == len(latents):  # a graph is captured before the latents arrive from another node
            drawn = Drawing.exact["pictures"][indices]
            pictures[...] = (drawn + 1) / 2 * 255 if self.sizes["pictures"] == "uint8" else drawn


def sizes():
    """The sizes with all numbers of images and types of pixels; computes the reference for the look-up."""
    all_sizes = [
        workloads.complete("dcgan", {"images": images, "channels": CHANNELS, "pictures": kind})
        for images, kind in itertools.product(IMAGES, KINDS)
    ]
    Drawing.exact = reference.compute(all_sizes[0], None)
    return all_sizes


def solve(case, variant):
    """Run two rounds of a case by a variant; the process with the outputs, a first or only rank, checks them."""
    problem, steps = worker.make_problem(dcgan, case, devices.of(case)), None
    for round in range(2):
        if problem.inputs:
            dcgan.fill(problem.inputs, case.sizes, 0, None)
            dcgan.fill(problem.inputs, case.sizes, round, None)
        steps = steps or Steps.of(variant.setup(problem, **case.tuning))
        in_order(steps.prepare)()
        validation.poison(problem.outputs)
        steps.timed()()
        if problem.outputs:
            validation.require_finite(problem.outputs, problem.output_kinds)
            checks, _ = dcgan.check(case.sizes, {}, problem.outputs, round, None, Drawing.exact, "float32")
            validation.require(checks, case.key)
