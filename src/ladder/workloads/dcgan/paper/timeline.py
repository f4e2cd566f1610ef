"""Hidden copies: when batches are drawn and copied, sequentially and overlapped."""

from ladder.report.figures import looks, timeline
from ladder.workloads.dcgan.paper.claims import AFTER, PINNED
from ladder.workloads.dcgan.paper.lines import HOME

TITLE = "Batches and their device-to-host copies"
CAPTION = """\
When each batch of a call, numbered in order, is computed and copied to the host, in half precision.
"""
EXPERIMENTS = ("dcgan_host", "dcgan_gpu", "dcgan_home")
WAYS = {"copies after each batch": AFTER, "copies hidden": PINNED}


def draw(study):
    """A panel for each way, on the chapter's GPU."""
    rows = study.traces(HOME, WAYS, [study.machine("gpu").subject])
    return timeline.figure(rows, "batches and their copies", [looks.COLOURS[name] for name in ("blue", "sky")])
