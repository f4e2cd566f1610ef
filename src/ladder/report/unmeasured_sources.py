"""SOURCES of measurements in users' chapters (`lines.py`) that stay empty, because no case of a run has their sizes."""

from ladder.catalogue import locations, workloads
from ladder.catalogue.literals import line_of
from ladder.errors import enumerate_words
from ladder.planning import plan
from ladder.report import chapter_data, chapters


def sentences(experiments):
    """A sentence on each source of a user's chapter whose sizes no case of its experiments has."""
    return [
        sentence
        for chapter in chapters.chapters()
        if chapter.has_lines and not chapter.folder.is_relative_to(locations.WORKLOADS)
        for name, source in chapter_data.module(chapter, "lines").SOURCES.items()
        if (sentence := reason(chapter, name, source, experiments))
    ]


def reason(chapter, name, source, experiments):
    """A sentence on why no case has the sizes of a source; None if one has them, or if an experiment isn't known."""
    from ladder.report.telling.lines import plain_conditions  # here: planning needs pandas only for users' chapters

    if not all(experiments.get(experiment) for experiment in source.experiments):
        return None
    every_size = [
        workloads.complete(experiments[experiment]["workload"], sizes)
        for experiment in source.experiments
        for sizes in plan.grid(experiments[experiment]["sizes"])
    ]
    for condition, value in plain_conditions(source.conditions).items():
        values = {sizes[condition] for sizes in every_size if condition in sizes}
        if values and value not in values:
            return (
                f"The source {name!r} in {line_of(chapter.folder / chapters.LINES_FILE, 'SOURCES', name)} asks for "
                f"{condition}={value}, which no case of {enumerate_words(source.experiments)} has, only "
                f"{enumerate_words(map(str, sorted(values)))}: the chapter will say that nothing was measured."
            )
    return None
