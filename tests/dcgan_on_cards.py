"""Pictures copied to the host from several simulated GPUs of one process, which has a thread per GPU.

    CUDA_VISIBLE_DEVICES=0,1,2,3 PYTHONPATH=tests/fake_cupy python tests/dcgan_on_cards.py [--fault FAULT]

Streams work as late as possible. A fault must be detected. At the end, prints how many runs were right.
"""

import argparse
import itertools

import numpy as np

import dcgan_drawn
from ladder.records.case import Case
from ladder.workloads.dcgan import card, home

GPUS = (1, 2, 3, 4)
MEMORIES, COPIES = ("pinned", "staged", "pageable"), ("hidden", "after")
TUNINGS = [{"memory": memory, "copies": copies, "batch": 4} for memory in MEMORIES for copies in COPIES] + [
    {"batch": 1},
    {"batch": 7, "streams": 3},
    {"batch": 40, "batches": "tapered", "streams": 1},
    {"batch": 4, "graph": "on"},
    {"batch": 4, "graph": "on", "streams": 1, "copies": "after"},
]


def left_out(self):
    """The last GPU does nothing."""
    if self.device.id < GPUS[-1] - 1:
        RUN(self)


def backwards(self):
    """Each GPU draws its images in reverse order."""
    self.home.latents = np.ascontiguousarray(self.home.latents[::-1])
    RUN(self)


def return_early(self):
    """Each GPU's call returns while the GPU works."""
    with self.device, self.streams[0]:
        self.call()


FAULTS = {"card left out": left_out, "other order": backwards, "no waiting": return_early}
RUN = home.Card.run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fault", choices=FAULTS)
    fault = parser.parse_args().fault
    sizes, gpus = dcgan_drawn.sizes(), GPUS
    card.generator = dcgan_drawn.Drawing
    if fault:
        home.Card.run = FAULTS[fault]
        sizes, gpus = sizes[-2:-1], GPUS[-1:]
    cases = list(itertools.product(sizes, gpus, TUNINGS))
    for size, count, tuning in cases:
        dcgan_drawn.solve(Case("dcgan", "home", size, {"gpus": count, **tuning}), home)
    print(f"{len(cases)} runs were right")


if __name__ == "__main__":
    main()
