"""What hidden copies hide: when batches are drawn and copied, one after the other and beside each other."""

from ladder.report.figures import looks, timeline
from ladder.workloads.dcgan.paper import query, rungs

TITLE = "Batches and their copies home"
CATEGORY = "Generator"
CAPTION = """\
When batches are drawn and when they are copied home, in half precision, numbered in their order.
"""
EXPERIMENTS = ("dcgan_host", "dcgan_gpu", "dcgan_home")
WAYS = {
    "copies after each batch": rungs.home("pinned", "after", "float16"),
    "copies hidden": rungs.home("pinned", "hidden", "float16"),
}


def draw(tables):
    """A panel per way, of the chapter's card."""
    traces = tables["dcgan_home"]["traces"]
    if len(traces):
        traces = traces[traces["machine"].isin(query.shown(tables))]
    colours = [looks.COLOURS[name] for name in ("blue", "sky")]
    return timeline.figure(query.traces_of(traces, WAYS), "batches on their way home", colours)
