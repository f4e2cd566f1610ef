"""Pictures home from several cards of one process, none of which is there: a thread works for each.

    CUDA_VISIBLE_DEVICES=0,1,2,3 PYTHONPATH=tests/fake_cupy python tests/dcgan_on_cards.py [--fault FAULT]

Streams work as late as they may. A fault must be noticed. It ends by saying how many runs were right.
"""

import argparse
import itertools

import numpy as np

import dcgan_drawn
from ladder.records.case import Case
from ladder.workloads.dcgan import gpu, home

GPUS = (1, 2, 3, 4)
MEMORIES, COPIES = ("pinned", "staged", "pageable"), ("hidden", "after")
WAYS = [{"memory": memory, "copies": copies, "batch": 4} for memory in MEMORIES for copies in COPIES] + [
    {"batch": 1},
    {"batch": 7, "streams": 3},
    {"batch": 40, "batches": "tapered", "streams": 1},
    {"batch": 4, "graph": "on"},
    {"batch": 4, "graph": "on", "streams": 1, "copies": "after"},
]


def left_out(self):
    """The last card does nothing."""
    if self.device.id < GPUS[-1] - 1:
        RUN(self)


def backwards(self):
    """Each card draws its images in another order."""
    self.host.latents = np.ascontiguousarray(self.host.latents[::-1])
    RUN(self)


def not_waited_for(self):
    """Each card's call ends while it works."""
    with self.device, self.streams[0]:
        self.call()


FAULTS = {"card left out": left_out, "other order": backwards, "no waiting": not_waited_for}
RUN = home.GpuShare.run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fault", choices=FAULTS)
    fault = parser.parse_args().fault
    sizes, gpus = dcgan_drawn.sizes(), GPUS
    gpu.generator = dcgan_drawn.Drawing
    if fault:
        home.GpuShare.run = FAULTS[fault]
        sizes, gpus = sizes[-2:-1], GPUS[-1:]
    cases = list(itertools.product(sizes, gpus, WAYS))
    for size, count, way in cases:
        dcgan_drawn.solve(Case("dcgan", "home", size, {"gpus": count, **way}), home)
    print(f"{len(cases)} runs were right")


if __name__ == "__main__":
    main()
