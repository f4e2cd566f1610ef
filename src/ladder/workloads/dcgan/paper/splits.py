"""The earlier study's splits on a GPU: the time of each batch's layers, as products or by loops."""

from ladder.report.figures import timeline
from ladder.report.telling.lines import select
from ladder.workloads.dcgan.paper.lines import SPLIT_IMAGES, SPLITS

TITLE = "Layers as products or by loops"
CAPTION = """\
Timelines of a batch of sixteen pictures on the GPU, as in a figure of the study. A title says how many of the four
layers are im2col products, with one operand in registers, and how many are computed directly.
"""
EXPERIMENTS = ("dcgan_splits",)
CALLS = {f"{first} + {4 - first}": select("split", split=first, images=SPLIT_IMAGES) for first in (2, 3, 4)}


def draw(study):
    """A panel for each split."""
    return timeline.figure(study.traces(SPLITS, CALLS), "the splits")
