"""Pictures of `mpi_home` on the ranks of a launcher: several numbers of images, batches and types of pixels.

    mpiexec -n 3 python -m mpi4py tests/dcgan_on_ranks.py [--remote RANK] [--lookup] [--fault FAULT]

The ranks from RANK on count as ranks of another node. With `--lookup`, pictures are looked up in the reference, which
needs no GPU with stand-ins for CuPy, whose streams run their work as late as possible, and for NVML:

    export LADDER_FAKE_GPUS=3 PYTHONPATH=tests/fake_cupy:tests/stand_in_nvml
    mpiexec -n 3 python -m mpi4py tests/dcgan_on_ranks.py --lookup

With a fault, a check must fail. At the end the first rank prints the number of correct runs.
"""

import argparse
import itertools

import numpy as np

import dcgan_lookup
from ladder import devices
from ladder.devices import mpi_cuda
from ladder.machine import nvidia
from ladder.records.case import Case
from ladder.workloads.dcgan import gpu, home, mpi_home

TUNINGS = (
    {"batch": 1},
    {"batch": 7, "streams": 3},
    {"batch": 40, "batches": "tapered", "streams": 1},
    {"batch": 16, "graph": "on"},
    {"batch": 4, "memory": "staged", "streams": 1},
)
FAULTS = ("share skipped", "reverse order", "no waiting")


def plant_fault(fault, is_last_rank):
    """Plant a fault: "no waiting" in all ranks, the others in the last one alone."""

    def skip(self):
        pass

    def reverse_order(self):
        latents = self.host.latents
        self.host.latents = np.ascontiguousarray(latents[::-1])
        home.GpuShare.run(self)
        self.host.latents = latents

    if fault == "no waiting":
        import cupy

        cupy.Stream.synchronize = lambda self: None
    elif is_last_rank:
        mpi_home.RankShare.run = {"share skipped": skip, "reverse order": reverse_order}[fault]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--remote", type=int)
    parser.add_argument("--lookup", action="store_true")
    parser.add_argument("--fault", choices=FAULTS)
    options = parser.parse_args()
    world = mpi_cuda.communicator()
    device = devices.load("mpi_cuda")
    device.set_variables({"CUDA_VISIBLE_DEVICES": ",".join(properties["uuid"] for properties in nvidia.gpus())})
    if options.remote:
        node = world.Split(world.rank >= options.remote)
        mpi_cuda.node_communicator = lambda: node
    all_sizes = dcgan_lookup.sizes()
    if options.lookup:
        gpu.generator = dcgan_lookup.LookupGenerator
    if options.fault:
        plant_fault(options.fault, world.rank == world.size - 1)
        all_sizes = all_sizes[-2:]  # the most images, so that the last rank has some, in both types of pixels
    for sizes, tuning in itertools.product(all_sizes, TUNINGS):
        dcgan_lookup.solve(Case("dcgan", "mpi_home", sizes, {"ranks": world.size, **tuning}), mpi_home)
    if device.is_first():
        print(f"{len(all_sizes) * len(TUNINGS)} runs were right on {world.size} ranks")


if __name__ == "__main__":
    main()
