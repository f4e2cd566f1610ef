"""NumPy archives (.npz) written by this project."""

import zipfile
import zlib

import numpy as np

from ladder.errors import LadderError

BROKEN = (ValueError, KeyError, EOFError, AttributeError, TypeError, RecursionError, zipfile.BadZipFile, zlib.error)


def read(path, what):
    """The arrays in a file, by name. Raises LadderError if the file can't be read or isn't `what` it should be."""
    try:
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror or error}.") from None
    except BROKEN as error:
        raise LadderError(f"{path} isn't {what}, or is broken: {error}. Delete and rebuild it.") from None
