"""Which elements of a result are wrong, in words: the worst one, and how many by row and column."""

import numpy as np

AXES = {1: ("elements",), 2: ("rows", "columns")}


def mismatches(
    excess: np.ndarray,
    is_wrong: np.ndarray,
    actual: np.ndarray,
    expected: np.ndarray,
    rows: np.ndarray | range | None = None,
    projected: str | None = None,
) -> str:
    """Sentences on the element with the largest excess, and on all that are wrong.

    All arrays have one shape. `excess` is each element's error divided by its bound, or 1 for one that isn't finite;
    `is_wrong` holds a bool for each element. If the arrays are some rows of a larger one,
    `rows` holds their numbers. If each element is the sum, with random signs, of a row or column of the result,
    `projected` is `row` or `column`.
    """
    index = np.unravel_index(np.argmax(excess), excess.shape)
    place = [int(i) for i in index]
    if rows is not None and place:
        place[0] = int(rows[place[0]])
    subject = (
        f"The sum of {projected} {place[0]} of the result, with random signs," if projected else f"Element {place}"
    )
    worst = f"{subject} is {text(actual[index])}, but {text(expected[index])} is expected."
    if is_wrong.size == 1:
        return worst
    if projected:
        return f"{worst} Wrong elements are in {extent(is_wrong, rows, (f'{projected}s',))}."
    count = int(is_wrong.sum())
    verb = "is" if count == 1 else "are"
    return f"{worst} {count} of the {is_wrong.size} compared elements {verb} wrong, in {extent(is_wrong, rows)}."


def text(number: float) -> str:
    """A number with enough digits to see an error in float64, and without the name of its type."""
    return f"{float(number):.15g}"


def extent(is_wrong: np.ndarray, rows: np.ndarray | range | None = None, names: tuple[str, ...] | None = None) -> str:
    """The part of an array whose elements are wrong, by axis: `1 of 65 rows (64) and 5 of 65 columns (0 to 4)`."""
    names = names or AXES.get(is_wrong.ndim, tuple(f"positions of axis {axis}" for axis in range(is_wrong.ndim)))
    parts = []
    for axis, name in enumerate(names):
        others = tuple(other for other in range(is_wrong.ndim) if other != axis)
        positions = np.flatnonzero(is_wrong.any(axis=others))
        first, last = (position if axis or rows is None else rows[position] for position in positions[[0, -1]])
        span = f"{first}" if first == last else f"{first} to {last}"
        parts.append(f"{len(positions)} of {is_wrong.shape[axis]} {name} ({span})")
    return " and ".join(parts)
