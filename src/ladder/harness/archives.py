"""NumPy archives (.npz) written by this project."""

import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ladder.errors import LadderError

# What NumPy, zipfile and zlib raise for a file with a flipped bit.
READ_ERRORS = (
    ValueError,
    KeyError,
    EOFError,
    AttributeError,
    TypeError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def read(path: Path | str, description: str) -> dict[str, np.ndarray]:
    """The arrays in a file, by name. Raises LadderError if it can't be read; `description` says what it should be."""
    try:
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror or error}.") from None
    except READ_ERRORS as error:
        raise LadderError(f"{path} isn't {description}, or is broken: {error}. Delete and rebuild it.") from None
