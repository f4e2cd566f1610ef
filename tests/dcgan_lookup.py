"""A generator that looks its pictures up in the reference, to test how `home` and `mpi_home` copy them to the host.

It needs no GPU: its work is enqueued in the streams of `fake_cupy`, which stands in for CuPy.
"""

import itertools

import numpy as np

from ladder import devices
from ladder.catalogue import workloads
from ladder.harness import validation, worker
from ladder.harness.steps import Steps, chain_steps
from ladder.workloads import dcgan
from ladder.workloads.dcgan import network, reference

IMAGE_COUNTS = (1, 2, 17, 101)
PIXEL_TYPES = ("float32", "uint8")
CHANNELS = 8


class LookupGenerator:
    """A Generator that draws no picture itself, but copies it from the reference, if its network is the right one."""

    reference = None  # set by `sizes`
    prepare = ((None, lambda: None),)  # nothing to prepare

    def __init__(self, weights, sizes, **options):
        self.weights, self.sizes = weights, sizes

    def steps(self, latents, pictures):
        ends = np.cumsum([len(batch) for batch in pictures])
        batches_of_latents = np.split(latents, ends[:-1])
        return [self.batch(*batch) for batch in zip(batches_of_latents, pictures, strict=True)]

    def batch(self, latents, pictures):
        from cupy import current_stream

        return [(None, lambda: current_stream().submit(lambda: self.draw(latents, pictures)))]

    def draw(self, latents, pictures):
        pool = network.latents(self.sizes["seed"])  # the reference has a picture of each of these latents
        indices = [index for latent in latents for index in np.flatnonzero((pool == latent).all(axis=1))]
        is_right = np.array_equal(self.weights, network.random_network(CHANNELS, self.sizes["seed"]))
        # While a graph is captured, a remote rank has no latents yet.
        if is_right and len(indices) == len(latents):
            floats = LookupGenerator.reference["pictures"][indices]
            pictures[...] = (floats + 1) / 2 * 255 if self.sizes["pictures"] == "uint8" else floats


def sizes():
    """The sizes for all IMAGE_COUNTS and PIXEL_TYPES; also computes the reference of LookupGenerator."""
    all_sizes = [
        workloads.complete("dcgan", {"images": images, "channels": CHANNELS, "pictures": pixel_type})
        for images, pixel_type in itertools.product(IMAGE_COUNTS, PIXEL_TYPES)
    ]
    LookupGenerator.reference = reference.compute(all_sizes[0], None)
    return all_sizes


def solve(case, variant):
    """Run a case, of the module `variant`, for two rounds; the first rank, or the only process, checks the pictures."""
    problem, steps = worker.make_problem(dcgan, case, devices.of(case)), None
    for round in range(2):
        if problem.inputs:
            dcgan.fill(problem.inputs, case.sizes, round, None)
        steps = steps or Steps.of(variant.setup(problem, **case.tuning))
        chain_steps(steps.prepare)()
        validation.poison(problem.outputs)
        steps.timed()()
        if problem.outputs:
            validation.require_finite(problem.outputs, problem.output_kinds)
            checks, _ = dcgan.check(case.sizes, {}, problem.outputs, round, None, LookupGenerator.reference, "float32")
            validation.require(checks, case.key)
