"""Mistakes in a chapter's own code as sentences that name a line in its folder, as is done for mistakes in variants."""

import contextlib

from ladder.catalogue import code_errors
from ladder.errors import LadderError


@contextlib.contextmanager
def explain_mistakes(what, path):
    """Raise mistakes in a chapter's code as LadderError about `what`, such as "The figure x", which `path` makes."""
    try:
        yield
    except code_errors.MISTAKES as error:
        hint = code_errors.advice_on_keyword(error)
        raise LadderError(f"{code_errors.describe(error, what, path)}.{hint} See docs/contracts.md.") from error


def message(error, folders):
    """The message of an error in a template; of a mistake in the code in chapters' `folders`, a sentence with the line.

    A call with wrong names or too few arguments fails in the template, so it is no mistake in the function's code.
    """
    places = [place for folder in folders if (place := code_errors.line_of(error, folder)) and place[0].suffix == ".py"]
    if isinstance(error, code_errors.MISTAKES) and places:
        return f"{code_errors.describe(error, 'the call', places[0][0])}. See docs/contracts.md."
    # A TypeError on a call names the function; the message of a KeyError, for example, is only the key.
    is_legible = isinstance(error, TypeError) or not isinstance(error, code_errors.MISTAKES)
    return str(error) if is_legible else f"{code_errors.describe(error, 'the call', None)}."
