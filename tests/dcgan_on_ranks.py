"""Pictures on the ranks that a launcher has started: many numbers of images, incomplete batches, types of pixels.

    mpiexec -n 3 python tests/dcgan_on_ranks.py [--away RANK] [--drawn] [--fault FAULT]

The ranks from RANK on pretend to be on another node. With `--drawn`, no GPU is needed: a look-up in the reference
replaces the generator, on stand-ins whose streams work as late as possible. A fault must be detected. At the end, the
first rank prints how many runs were right.
"""

import argparse
import itertools

import numpy as np

import dcgan_drawn
from ladder import devices
from ladder.devices import mpi_cuda
from ladder.machine import nvidia
from ladder.records.case import Case
from ladder.workloads.dcgan import card, home, mpi_home

TUNINGS = (
    {"batch": 1},
    {"batch": 7, "streams": 3},
    {"batch": 40, "batches": "tapered", "streams": 1},
    {"batch": 16, "graph": "on"},
)
FAULTS = ("share left out", "other order", "no waiting")


def make_fault(fault, is_last):
    """Make the last rank, or all ranks, work wrong."""

    def left_out(self):
        pass

    def backwards(self):
        latents = self.home.latents
        self.home.latents = np.ascontiguousarray(latents[::-1])
        home.Card.run(self)
        self.home.latents = latents

    if fault == "no waiting":
        import cupy

        cupy.Stream.synchronize = lambda self: None
    elif is_last:
        mpi_home.Card.run = {"share left out": left_out, "other order": backwards}[fault]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--away", type=int)
    parser.add_argument("--drawn", action="store_true")
    parser.add_argument("--fault", choices=FAULTS)
    options = parser.parse_args()
    world = mpi_cuda.communicator()
    device = devices.load("mpi_cuda")
    device.set_variables({"CUDA_VISIBLE_DEVICES": ",".join(info["uuid"] for info in nvidia.gpus())})
    if options.away:
        node = world.Split(world.rank >= options.away)
        mpi_cuda.neighbours = lambda: node
    sizes = dcgan_drawn.sizes()
    if options.drawn:
        card.generator = dcgan_drawn.Drawing
    if options.fault:
        make_fault(options.fault, world.rank == world.size - 1)
        sizes = sizes[-2:]
    for size, tuning in itertools.product(sizes, TUNINGS):
        dcgan_drawn.solve(Case("dcgan", "mpi_home", size, {"ranks": world.size, **tuning}), mpi_home)
    if device.is_first():
        print(f"{len(sizes) * len(TUNINGS)} runs were right on {world.size} ranks")


if __name__ == "__main__":
    main()
