"""Checks of the columns that a chapter's sources and lines select rows by: without the column there would be no row."""

from ladder.catalogue import setup_arguments, workloads
from ladder.catalogue.literals import line_of
from ladder.errors import LadderError, did_you_mean
from ladder.report import chapter_data, chapters
from ladder.store import columns


def require(chapter, experiments):
    """Refuse a condition of a source or a line on a column that its experiments lack. Raises LadderError.

    `experiments` are all of the configuration; sources of others are accepted.
    """
    path, data = chapter.folder / chapters.LINES_FILE, chapter_data.module(chapter, "lines")
    for name, source in data.SOURCES.items():
        owner = f"The source {name!r} in {line_of(path, 'SOURCES', name)}"
        require_columns(owner, source.conditions, source, experiments)
    for name, line in data.LINES.items():
        owner = f"The line {name!r} in {line_of(path, 'LINES', name)}"
        require_columns(owner, line.tuning, data.SOURCES[line.source], experiments)


def require_columns(owner, conditions, source, experiments):
    """Refuse an unknown column among `conditions`; `owner` says whose they are."""
    if not all(experiments.get(name) for name in source.experiments):
        return
    sizes_and_tunings = set().union(*(columns_of(experiments[name]) for name in source.experiments))
    for column in conditions:
        if column not in sizes_and_tunings | {*columns.CASE, *columns.TABLES["samples"]}:
            raise LadderError(
                f"{owner} selects by {column!r}, which is neither a size nor a tuning of a case of its experiments."
                f"{did_you_mean(column, sizes_and_tunings)}"
            )


def columns_of(experiment):
    """The columns of an experiment's cases: the sizes of its workload, its variants' tunings and its variables."""
    workload = experiment["workload"]
    variants = experiment.get("variants") or workloads.variants(workload)
    tunings = {name for variant in variants for name in setup_arguments.tunings(workload, variant)}
    return {*workloads.load(workload).SIZES, *experiment.get("environment", ()), *tunings}
