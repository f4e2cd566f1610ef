"""Measuring numerical kernels, and writing about them; ARCHITECTURE.md describes the packages."""

import sys

# `python -m` searches the working folder first, where a user's `random.py` would replace that of Python. What the
# project starts itself has PYTHONSAFEPATH.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    del sys.path[0]
