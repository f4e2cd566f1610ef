"""Measure numerical kernels and write about them; ARCHITECTURE.md describes the packages."""

import os
import sys

# `python -m` searches the working folder first, where a user's `random.py` would replace Python's. Processes that the
# project starts have PYTHONSAFEPATH=1 instead.
try:
    if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and sys.path[0] == os.getcwd():  # noqa: PTH109
        del sys.path[0]
except OSError:  # the working folder is gone
    pass
