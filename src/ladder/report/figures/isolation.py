"""Import matplotlib with its own defaults, isolated from a user's settings, styles and fonts."""

import contextlib
import importlib.util
import os
from pathlib import Path

# Variables that name a backend, which may not be installed, settings, styles, and the rendering of fonts.
HIDDEN_VARIABLES = ("MPLBACKEND", "MATPLOTLIBRC", "MPLCONFIGDIR", "FREETYPE_PROPERTIES")


@contextlib.contextmanager
def isolate_matplotlib():
    """Hide the user's settings, styles and backend from an import of matplotlib in this context.

    Matplotlib searches the working directory first, so this is temporarily the folder of matplotlib's own defaults.
    Its cache of fonts stays in the usual folder, because building it takes long.
    """
    defaults = Path(importlib.util.find_spec("matplotlib").origin).with_name("mpl-data")
    before, working_directory = dict(os.environ), os.open(".", os.O_PATH)
    cache = before.get("MPLCONFIGDIR") or before.get("XDG_CACHE_HOME") or f"{before.get('HOME', '')}/.cache"
    try:
        for name in HIDDEN_VARIABLES:
            os.environ.pop(name, None)
        os.environ |= {"MPLBACKEND": "agg", "XDG_CACHE_HOME": cache, "XDG_CONFIG_HOME": cache}
        os.chdir(defaults)
        yield
    finally:
        os.fchdir(working_directory)
        os.close(working_directory)
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def without_source_date():
    """Hide SOURCE_DATE_EPOCH, by which matplotlib dates a file; only `ladder` itself removes it at its start."""
    date = os.environ.pop("SOURCE_DATE_EPOCH", None)
    try:
        yield
    finally:
        if date is not None:
            os.environ["SOURCE_DATE_EPOCH"] = date


def keep_own_fonts(manager, folder):
    """Restrict matplotlib's font manager to the fonts that come with matplotlib, in `folder`."""
    manager.ttflist = [font for font in manager.ttflist if Path(font.fname).is_relative_to(folder)]
