"""The table of then and now: what hardware and what code have gained since the earlier studies."""

from ladder.report import chapters, latex, ratios
from ladder.report.cells import NONE
from ladder.report.telling.chapter_study import NotMeasured, chapter_module
from ladder.store.study import median_time

HEAD = ["Study", "What", "Then", "Its program today", "Best program today", "By hardware", "By code"]


def table(study):
    """A row for each EarlierTime in EARLIER_TIMES of the chapters' `earlier.py` or `text.py`, as LaTeX."""
    rows = []
    for chapter in chapters.chapters():
        modules = [chapter_module(chapter.workload, name) for name in ("earlier", "text")] if chapter.has_lines else []
        entries = [time for data in modules for time in getattr(data, "EARLIER_TIMES", ())]
        rows += [row(chapter.title, chapter.study(study), entry) for entry in entries]
    return latex.table(r"ll*{5}{r}", HEAD, rows)


def row(title, study, entry):
    """The cells of an EarlierTime."""
    program, best = (seconds_of(study, side) for side in (entry.program, entry.best))
    times = [latex.seconds(time, 2) if time else NONE for time in (entry.seconds, program, best)]
    return [latex.escape(title), entry.words, *times, gain(entry.seconds, program), gain(program, best)]


def gain(before, after):
    """A time over another, or a dash without one."""
    return ratios.short(before / after) if before and after else NONE


def seconds_of(study, side):
    """The seconds of a side; None if it wasn't measured."""
    try:
        return side(study) if callable(side) else median_time(study.find(side))
    except NotMeasured:
        return None
