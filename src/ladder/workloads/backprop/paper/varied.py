"""The variations of a base: one tuning changed at a time."""

from ladder.report.telling.chapter_study import NotMeasured
from ladder.workloads.backprop.paper.lines import CHANGES, changed


def measured(study, line, source=None):
    """[(tuning, value, rows, rows of the base)] of the measured changes, on as many threads as the base."""
    changes = [(name, value) for name, values in CHANGES[line].items() for value in values]
    return [(*change, *rows) for change in changes if (rows := sides(study, line, source, dict([change])))]


def sides(study, line, source, change):
    """The rows with a tuning changed, and those of the base; none without both on a common number of threads."""
    try:
        return [*map(study.rows, study.paired(changed(line, source, **change), changed(line, source)))]
    except NotMeasured:
        return ()
