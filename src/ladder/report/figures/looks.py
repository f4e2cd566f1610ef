"""The look of a method, the same in all figures: label, colour, marker and dashes.

LOOKS of a chapter states the colour by its name in COLOURS, the marker in matplotlib's notation, and the dashes in
seaborn's: lengths of dash and gap, "" for a solid line.
"""

import functools
import itertools
import zlib
from dataclasses import dataclass

import numpy as np

from ladder.report.figures import methods
from ladder.report.figures.theme import sns, to_rgb

COLOURS = dict(zip(methods.PALETTE, sns.color_palette("colorblind").as_hex(), strict=True)) | methods.ADDED_COLOURS
# Looks for methods that no chapter's LOOKS has, chosen by a hash of their names.
FALLBACKS = list(itertools.product((COLOURS["yellow"], "#7a5195", "#003f5c", "#8c564b"), ("<", ">", "p", "h")))


@dataclass(frozen=True)
class Look:
    """The look of a method."""

    label: str
    colour: str
    marker: str | tuple
    dashes: tuple | str = ""

    @property
    def linestyle(self):
        """The dashes in matplotlib's notation."""
        return (0, self.dashes) if self.dashes else "-"


@functools.cache
def look(method):
    """The look of a method, independent of the other methods in a figure."""
    if method in methods.looks():
        label, colour, marker, dashes = methods.looks()[method]
        return Look(label, COLOURS[colour], marker, dashes)
    colour, marker = FALLBACKS[zlib.crc32(method.encode()) % len(FALLBACKS)]
    return Look(method.replace("_", " "), colour, marker)


def styles(looks_by_name):
    """Seaborn's arguments for {name: Look}: palette, markers and dashes."""
    return {
        "palette": {name: look.colour for name, look in looks_by_name.items()},
        "markers": {name: look.marker for name, look in looks_by_name.items()},
        "dashes": {name: look.dashes for name, look in looks_by_name.items()},
    }


def lighten(colour, share):
    """A colour mixed with white: share 0 is the colour itself, 1 is white."""
    return tuple(part + (1 - part) * share for part in to_rgb(colour))


def is_dark(colour):
    """Whether white is easier to read on a colour than black, by its luma (ITU-R BT.601)."""
    return np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) < 0.45
