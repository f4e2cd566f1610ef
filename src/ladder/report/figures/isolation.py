"""Matplotlib as it comes: while it is imported, nothing of a user's settings is there for it to find."""

import contextlib
import importlib.util
import os
from pathlib import Path

# What names a backend that needn't be there, files of settings and styles, and how letters are drawn.
HIDDEN = ("MPLBACKEND", "MATPLOTLIBRC", "MPLCONFIGDIR", "FREETYPE_PROPERTIES")


@contextlib.contextmanager
def isolated():
    """Keep settings, styles and backends of the user's from a matplotlib that is imported meanwhile.

    It looks into the working directory first, which is that of its own defaults for the while. What it knows of fonts
    is kept where it would be otherwise, so that it need not be found out again.
    """
    defaults = Path(importlib.util.find_spec("matplotlib").origin).with_name("mpl-data")
    before, here = dict(os.environ), os.open(".", os.O_PATH)
    cache = before.get("MPLCONFIGDIR") or before.get("XDG_CACHE_HOME") or f"{before.get('HOME', '')}/.cache"
    try:
        for name in HIDDEN:
            os.environ.pop(name, None)
        os.environ |= {"MPLBACKEND": "agg", "XDG_CACHE_HOME": cache, "XDG_CONFIG_HOME": cache}
        os.chdir(defaults)
        yield
    finally:
        os.fchdir(here)
        os.close(here)
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def undated():
    """Hide SOURCE_DATE_EPOCH, by which matplotlib dates a saved file; the command line has dropped it already."""
    date = os.environ.pop("SOURCE_DATE_EPOCH", None)
    try:
        yield
    finally:
        if date is not None:
            os.environ["SOURCE_DATE_EPOCH"] = date


def keep_own_fonts(manager, folder):
    """Have matplotlib's manager of fonts know those alone that came with it."""
    manager.ttflist = [font for font in manager.ttflist if Path(font.fname).is_relative_to(folder)]
