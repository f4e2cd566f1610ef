"""The methods that figures compare: their names, their order, and what the chapters say of their looks.

A chapter's `paper/__init__.py` may have two literals:

| literal | meaning |
| --- | --- |
| METHOD | the columns whose values name a method, joined by a space; a case that has none is named by its variant |
| LOOKS | {method: (label, colour, marker, dashes)} in the order of the ladder, see `looks.py` |

Planning reads them as text. A method has the same look in all chapters.
"""

from ladder.catalogue import literals
from ladder.errors import LadderError
from ladder.report import chapters


def looks():
    """What all chapters' LOOKS say, in one order that keeps each chapter's: {method: (label, colour, marker, dashes)}.

    Raises LadderError when two chapters show a method differently.
    """
    by_method, order = {}, []
    for workload, chapter_looks in of_chapters("LOOKS"):
        after = len(order)
        for method in reversed(chapter_looks):
            if by_method.setdefault(method, chapter_looks[method]) != chapter_looks[method]:
                raise LadderError(
                    f"LOOKS in the chapter of {workload} shows {method!r} as {chapter_looks[method]}, "
                    f"another chapter as {by_method[method]}: a method has one look."
                )
            if method in order:
                after = order.index(method)
            else:
                order.insert(after, method)
    return {method: by_method[method] for method in order}


def ordered(methods):
    """Methods without repetition in the order in which they are listed, unknown ones last."""
    known = list(looks())
    return sorted(set(methods), key=lambda method: (known.index(method) if method in known else len(known), method))


def with_methods(frame):
    """A table with the column `method`; all of its rows are of one workload."""
    names = columns(frame["workload"].iloc[0]) if len(frame) else ()
    parts = [frame[name] for name in names if name in frame]
    joined = [" ".join(str(part) for part in row if isinstance(part, str)) for row in zip(*parts, strict=True)]
    if not joined:
        return frame.assign(method=frame["variant"])
    return frame.assign(method=[name or variant for name, variant in zip(joined, frame["variant"], strict=True)])


def columns(workload):
    """The columns that name a workload's methods."""
    return dict(of_chapters("METHOD")).get(workload, ())


def of_chapters(name):
    """A literal of every chapter that has it, [(workload, value)], in the order of the chapters."""
    values = [
        (chapter.workload, literals.read(chapter.folder / "__init__.py").get(name)) for chapter in chapters.chapters()
    ]
    return [(workload, value) for workload, value in values if value]
