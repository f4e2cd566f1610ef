"""The variations of a base: one tuning changed at a time."""

from ladder.report.telling.chapter_study import NotMeasured
from ladder.workloads.backprop.paper.lines import CHANGES, changed


def measured(study, line, source=None):
    """[(tuning, value, rows, rows of the base)] of the measured changes, on as many threads as the base."""
    every = [(name, value) for name, values in CHANGES[line].items() for value in values]
    found = [(name, value, *sides(study, line, source, {name: value})) for name, value in every]
    return [one for one in found if len(one[2]) and len(one[3])]


def sides(study, line, source, change):
    """The rows with a tuning changed, and those of the base; none of either without a common number of threads."""
    try:
        return [*map(study.find, study.paired(changed(line, source, **change), changed(line, source)))]
    except NotMeasured:
        return (), ()
