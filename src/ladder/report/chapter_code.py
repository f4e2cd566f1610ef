"""Mistakes in a chapter's own code as sentences, with the innermost line in its folder: as in those of variants."""

import contextlib

from ladder.catalogue import code_errors
from ladder.errors import LadderError


@contextlib.contextmanager
def explain_mistakes(what, path):
    """Raise mistakes in a chapter's code as LadderError; `what`, such as a figure, is made by its file `path`."""
    try:
        yield
    except code_errors.MISTAKES as error:
        hint = code_errors.advice_on_keyword(error)
        raise LadderError(f"{code_errors.describe(error, what, path)}.{hint} See docs/contracts.md.") from error


def message(error, folders):
    """The message of an error in a template; of a mistake in the code in chapters' `folders`, a sentence with the line.

    A template calls functions of its own chapter and of others; a wrong argument is no mistake in their code.
    """
    places = [place for folder in folders if (place := code_errors.line_of(error, folder)) and place[0].suffix == ".py"]
    if isinstance(error, code_errors.MISTAKES) and places:
        return f"{code_errors.describe(error, 'the call', places[0][0])}. See docs/contracts.md."
    is_legible = isinstance(error, TypeError) or not isinstance(error, code_errors.MISTAKES)
    return str(error) if is_legible else f"{code_errors.describe(error, 'the call', None)}."
