"""A user's mistake ends the run with a sentence, for which Snakemake would print a traceback."""

import contextlib
import sys

from ladder.errors import LadderError


def stop(error):
    """End the run with a sentence."""
    sys.exit(f"ladder: {error}")


@contextlib.contextmanager
def ending_run(failure="can't be read"):
    """A context, or a decorator, in which a user's mistake ends the run; `failure` says what is wrong with a file."""
    try:
        yield
    except LadderError as error:
        stop(error)
    except OSError as error:
        stop(f"{error.filename} {failure}: {error.strerror}.")
