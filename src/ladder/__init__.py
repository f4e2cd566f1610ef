"""Measuring numerical kernels, and writing about them; ARCHITECTURE.md describes the packages."""

import os
import sys

# `python -m` searches the working folder first, where a user's `random.py` would replace that of Python. What the
# project starts itself has PYTHONSAFEPATH.
try:
    if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and sys.path[0] == os.getcwd():  # noqa: PTH109
        del sys.path[0]
except OSError:  # the working folder is gone
    pass
