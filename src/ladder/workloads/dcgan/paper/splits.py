"""The earlier study's splits on a card: what each batch's layers take, as products or by loops."""

from ladder.report.figures import timeline
from ladder.workloads.dcgan.paper import query, rungs

TITLE = "Layers as products or by loops"
CATEGORY = "Generator"
CAPTION = """\
The layers of batches of a hundred pictures on the card, as the earlier study split them: so many of the four as
gathered products of matrices, with one operand in registers, and the others by loops at the right parity.
"""
EXPERIMENTS = ("dcgan_splits",)
WAYS = {f"{first} + {4 - first}": rungs.split(first) for first in (2, 3, 4)}


def draw(tables):
    """A panel per split."""
    return timeline.figure(query.traces_of(tables["dcgan_splits"]["traces"], WAYS), "the splits")
