"""What hidden copies hide: when batches are drawn and copied, one after the other and beside each other."""

from ladder.report.figures import looks, timeline
from ladder.report.telling import traces
from ladder.workloads.dcgan.paper.claims import AFTER, PINNED
from ladder.workloads.dcgan.paper.lines import HOME

TITLE = "Batches and their copies home"
CATEGORY = "Generator"
CAPTION = """\
When batches are drawn and when they are copied home, in half precision, numbered in their order.
"""
EXPERIMENTS = ("dcgan_host", "dcgan_gpu", "dcgan_home")
WAYS = {"copies after each batch": AFTER, "copies hidden": PINNED}


def draw(study):
    """A panel for each way, on the chapter's card."""
    rows = traces.of_selections(study, HOME, WAYS, [study.machine("card").subject])
    return timeline.figure(rows, "batches on their way home", [looks.COLOURS[name] for name in ("blue", "sky")])
