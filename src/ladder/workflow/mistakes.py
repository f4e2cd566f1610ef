"""End the run with a sentence at a user's mistake, at which Snakemake would print a traceback."""

import contextlib
import sys

from ladder.errors import LadderError


def stop(error):
    """End the run with a sentence."""
    sys.exit(f"ladder: {error}")


@contextlib.contextmanager
def end_run_on_mistake(failure="can't be read"):
    """A context manager, or decorator: LadderError and OSError end the run; `failure` completes "FILE ..."."""
    try:
        yield
    except LadderError as error:
        stop(error)
    except OSError as error:
        stop(f"{error.filename} {failure}: {error.strerror}.")
