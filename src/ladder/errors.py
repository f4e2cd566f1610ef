"""LadderError, whose message is printed to the user without a traceback, and counts with their nouns for messages."""


class LadderError(Exception):
    """What is wrong, where, and what to do, as one sentence."""


def pluralize(count, noun):
    """A count and its noun, whose plural is regular: `1 thread`, `2 threads`, `2 processes`."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count} {noun}{ending}"
