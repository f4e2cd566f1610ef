"""The earlier study's staged copies: when batches are drawn, copied to the host, and copied there to the caller."""

from ladder.report.figures import looks, timeline
from ladder.workloads.dcgan.paper.claims import study_call
from ladder.workloads.dcgan.paper.lines import STAGED

TITLE = "Batches, their device-to-host copies, and the host's copies"
CAPTION = """\
When each batch of a call, numbered in order, is computed by the earlier study's kernels, copied to a staging buffer
(`copy`), and from there to the caller's array (`host`), as in a figure of the study.
"""
EXPERIMENTS = ("dcgan_rungs", "dcgan_staged")
CALLS = {"copies after each batch": study_call("staged", "after"), "copies hidden": study_call("staged", "hidden")}


def draw(study):
    """A panel for each of the two calls, on the chapter's GPU."""
    rows = study.traces(STAGED, CALLS, [study.machine("gpu").machine_name])
    return timeline.figure(rows, "batches and their copies", [looks.COLOURS[name] for name in ("blue", "sky")])
