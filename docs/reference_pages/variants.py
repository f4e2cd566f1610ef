"""The workloads with their sizes and variants, as `ladder list --rungs` lists them."""

from ladder.catalogue import workloads
from ladder.verbs.list import workload_document
from reference_pages import markdown

HEAD = ("variant", "idea", "device", "tunings")


def page():
    """A section for each workload."""
    return markdown.document(*(part for name in workloads.names() for part in section(workload_document(name))))


def section(workload):
    """A workload's sizes, and its ladder with the peers last."""
    rows = [
        (markdown.code(rung["variant"]), rung["idea"], rung["device"], markdown.codes(rung["tunings"]))
        for rung in workload["rungs"]
    ]
    return f"## `{workload['workload']}`", f"Sizes: {markdown.codes(workload['sizes'])}.", markdown.table(HEAD, rows)
