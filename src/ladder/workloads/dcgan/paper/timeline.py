"""What hidden copies hide: when batches are drawn and copied, one after the other and beside each other."""

from ladder.report import study
from ladder.report.figures import looks, timeline
from ladder.workloads.dcgan.paper import rungs

TITLE = "Batches and their copies home"
CATEGORY = "Generator"
CAPTION = """\
When batches are drawn and when they are copied home, in half precision, numbered in their order: copies after each
batch, and hidden behind the next one.
"""
EXPERIMENTS = ("dcgan_home",)
WAYS = {
    "copies after each batch": rungs.home("pinned", "after", "float16"),
    "copies hidden": rungs.home("pinned", "hidden", "float16"),
}


def draw(tables):
    """A panel per way, of the first machine that has them."""
    colours = [looks.COLOURS[name] for name in ("blue", "sky")]
    return timeline.figure(of_machine(tables["dcgan_home"]["traces"], WAYS), "batches on their way home", colours)


def of_machine(traces, lines):
    """The first process's rows of each line on the machine with most of them, {title: rows}."""
    found = {}
    for name in study.ordered(set(traces["machine"])) if len(traces) else ():
        own = study.where(traces, machine=name, process=0)
        rows = {title: one.rows(own) for title, one in lines.items()}
        rows = {title: study.where(one, case=min(one["case"])) for title, one in rows.items() if len(one)}
        found = max(found, rows, key=len)
    return found
