"""The one exception of the project, a sentence for the user that is printed without a traceback, and its numbers."""


class LadderError(Exception):
    """What is wrong, where, and what to do, as one sentence."""


def counted(count, noun):
    """A count and its noun, whose plural is regular: `1 thread`, `2 threads`, `2 processes`."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count} {noun}{ending}"
