"""The methods that figures compare: their names, their order, and their looks as chapters state them.

A chapter's `paper/__init__.py` may have two literals, which planning reads as text:

| literal | meaning |
| --- | --- |
| METHOD | the columns whose values, joined by a space, name a method; without any value the variant names it |
| LOOKS | {method: (label, colour, marker, dashes)} in the order of the ladder, see `looks.py` |

A method has the same look in all chapters.
"""

from ladder.catalogue import literals
from ladder.errors import LadderError
from ladder.report import chapters

# The names of the colours in LOOKS: those of seaborn's palette `colorblind` in its order, and five more.
PALETTE = ("blue", "orange", "green", "red", "pink", "brown", "rose", "grey", "yellow", "sky")
# Of Paul Tol's muted scheme; salmon is its rose.
ADDED_COLOURS = {"indigo": "#332288", "olive": "#999933", "wine": "#882255", "teal": "#44AA99", "purple": "#AA4499"}
ADDED_COLOURS |= {"salmon": "#CC6677"}
COLOURS = (*PALETTE, *ADDED_COLOURS)


def looks():
    """The LOOKS of all chapters merged; a chapter's order is kept unless earlier chapters order the methods otherwise.

    Raises LadderError if two chapters state different looks of a method.
    """
    by_method, order = {}, []
    for workload, chapter_looks in literals_of_chapters("LOOKS"):
        position = len(order)
        for method in reversed(chapter_looks):
            if by_method.setdefault(method, chapter_looks[method]) != chapter_looks[method]:
                raise LadderError(
                    f"LOOKS in the chapter of {workload} shows {method!r} as {chapter_looks[method]}, "
                    f"another chapter as {by_method[method]}: a method has one look."
                )
            if method in order:
                position = order.index(method)
            else:
                order.insert(position, method)
    return {method: by_method[method] for method in order}


def sort_methods(methods):
    """The distinct methods in the order of LOOKS, methods without a look last."""
    order = list(looks())
    return sorted(set(methods), key=lambda method: (order.index(method) if method in order else len(order), method))


def with_methods(frame):
    """The table with a column `method`; all of its rows must be of one workload."""
    names = columns(frame["workload"].iloc[0]) if len(frame) else ()
    parts = [frame[name] for name in names if name in frame]
    values = [" ".join(str(part) for part in row if isinstance(part, str)) for row in zip(*parts, strict=True)]
    if not values:
        return frame.assign(method=frame["variant"])
    return frame.assign(method=[value or variant for value, variant in zip(values, frame["variant"], strict=True)])


def columns(workload):
    """The columns that name a workload's methods."""
    return dict(literals_of_chapters("METHOD")).get(workload, ())


def literals_of_chapters(name):
    """A literal of every chapter that has it, [(workload, value)], in the order of the chapters."""
    values = [
        (chapter.workload, literals.read(chapter.folder / "__init__.py").get(name)) for chapter in chapters.chapters()
    ]
    return [(workload, value) for workload, value in values if value]
