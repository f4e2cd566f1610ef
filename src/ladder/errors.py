"""LadderError, whose message is printed to the user without a traceback, and parts of such messages."""

from collections.abc import Iterable
from typing import Any

# A name whose similarity to another, difflib's ratio, is at least this is taken for a misspelling of it.
MIN_SIMILARITY = 0.65


class LadderError(Exception):
    """What is wrong, where, and what to do, as one sentence."""


def pluralize(count: int, noun: str) -> str:
    """A count and its noun, whose plural is regular: `1 thread`, `2 threads`, `2 processes`."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count} {noun}{ending}"


def did_you_mean(name: Any, names: Iterable[Any]) -> str:
    """The end of a message about an unknown name: the one or two most similar known names, or nothing."""
    similar = similar_names(name, names)
    return f" Did you mean {enumerate_words(map(repr, similar), 'or')}?" if similar else ""


def similar_names(name: Any, names: Iterable[Any], count: int = 2, min_similarity: float = MIN_SIMILARITY) -> list[str]:
    """At most `count` known names that resemble an unknown one, whatever their case, the most similar first."""
    import difflib  # here, because most processes need no hint

    by_lower = {text.lower(): text for text in map(str, names)}
    return [by_lower[text] for text in difflib.get_close_matches(str(name).lower(), by_lower, count, min_similarity)]


def enumerate_words(words: Iterable[str], conjunction: str = "and") -> str:
    """The words as a list in a sentence: `a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last
