"""Pictures drawn without a card, by a look-up in the place of a generator, and cases that bring them home.

Its work is put into the streams of `fake_cupy`, CuPy's stand-in.
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
    """What takes a generator's place: pictures of the pool, if the network is the right one."""

    exact = None
    prepare = ((None, lambda: None),)

    def __init__(self, weights, sizes, **how):
        self.weights, self.sizes = weights, sizes

    def steps(self, latents, pictures):
        ends = np.cumsum([len(own) for own in pictures])
        return [self.batch(part, own) for part, own in zip(np.split(latents, ends[:-1]), pictures, strict=True)]

    def batch(self, latents, pictures):
        from cupy import current

        return [(None, lambda: current().later(lambda: self.draw(latents, pictures)))]

    def draw(self, latents, pictures):
        pool = network.latents(self.sizes["seed"])
        chosen = [place for latent in latents for place in np.flatnonzero((pool == latent).all(axis=1))]
        is_right = np.array_equal(self.weights, network.random(CHANNELS, self.sizes["seed"]))
        if is_right and len(chosen) == len(latents):  # a graph is made before latents have come from another node
            found = Drawing.exact["pictures"][chosen]
            pictures[...] = (found + 1) / 2 * 255 if self.sizes["pictures"] == "uint8" else found


def sizes():
    """The sizes of all numbers of images and kinds of pixels, of which the look-up is then known."""
    found = [
        workloads.complete("dcgan", {"images": images, "channels": CHANNELS, "pictures": kind})
        for images, kind in itertools.product(IMAGES, KINDS)
    ]
    Drawing.exact = reference.compute(found[0], None)
    return found


def solve(case, variant):
    """Two rounds of a case by a variant, checked by the first rank, or by the only one."""
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
            found, _ = dcgan.check(case.sizes, {}, problem.outputs, round, None, Drawing.exact, "float32")
            validation.require(found, case.key)
