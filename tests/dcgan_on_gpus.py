"""Pictures of `home`, which copies them to the host, from several simulated GPUs, each with a thread of one process.

    CUDA_VISIBLE_DEVICES=0,1,2,3 PYTHONPATH=tests/fake_cupy python tests/dcgan_on_gpus.py [--fault FAULT]

Streams run their work as late as possible. With a fault, a check must fail. At the end the program prints the number of
correct runs.
"""

import argparse
import itertools

import numpy as np

import dcgan_lookup
from ladder.records.case import Case
from ladder.workloads.dcgan import gpu, home

GPU_COUNTS = (1, 2, 3, 4)
MEMORIES, COPIES = ("pinned", "staged", "pageable"), ("hidden", "after")
TUNINGS = [{"memory": memory, "copies": copies, "batch": 4} for memory in MEMORIES for copies in COPIES] + [
    {"batch": 1},
    {"batch": 7, "streams": 3},
    {"batch": 40, "batches": "tapered", "streams": 1},
    {"batch": 4, "graph": "on"},
    {"batch": 4, "graph": "on", "streams": 1, "copies": "after"},
]


def skip_last(self):
    """The last GPU does nothing."""
    if self.device.id < GPU_COUNTS[-1] - 1:
        ORIGINAL_RUN(self)


def reverse_order(self):
    """Each GPU draws its images in reverse order."""
    self.host.latents = np.ascontiguousarray(self.host.latents[::-1])
    ORIGINAL_RUN(self)


def return_early(self):
    """The call of each GPU returns before its work has ended."""
    with self.device, self.streams[0]:
        self.call()


FAULTS = {"GPU skipped": skip_last, "reverse order": reverse_order, "no waiting": return_early}
ORIGINAL_RUN = home.GpuShare.run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fault", choices=FAULTS)
    fault = parser.parse_args().fault
    all_sizes, gpu_counts = dcgan_lookup.sizes(), GPU_COUNTS
    gpu.generator = dcgan_lookup.LookupGenerator
    if fault:
        home.GpuShare.run = FAULTS[fault]
        all_sizes, gpu_counts = all_sizes[-2:-1], GPU_COUNTS[-1:]  # the most images, as float32, on the most GPUs
    runs = list(itertools.product(all_sizes, gpu_counts, TUNINGS))
    for sizes, gpus, tuning in runs:
        dcgan_lookup.solve(Case("dcgan", "home", sizes, {"gpus": gpus, **tuning}), home)
    print(f"{len(runs)} runs were right")


if __name__ == "__main__":
    main()
