"""How a method looks, wherever it is shown: label, colour, marker and dashes.

LOOKS of a chapter gives the colour by its name in COLOURS, the marker as matplotlib has it, and the dashes as seaborn
does: lengths of ink and gap, "" for a whole line.
"""

import functools
import itertools
import zlib
from dataclasses import dataclass

import numpy as np

from ladder.report.figures import methods
from ladder.report.figures.theme import sns, to_rgb

# Seaborn's palette for colour-blind eyes, and a tenth colour; grey is kept for what isn't a method.
NAMES = ("blue", "orange", "green", "red", "pink", "brown", "rose", "grey", "yellow", "sky")
COLOURS = dict(zip(NAMES, sns.color_palette("colorblind").as_hex(), strict=True)) | {"indigo": "#332288"}
# Methods of which no chapter speaks share these by their names.
OTHERS = list(itertools.product((COLOURS["yellow"], "#7a5195", "#003f5c", "#8c564b"), ("<", ">", "p", "h")))


@dataclass(frozen=True)
class Look:
    """How a method is shown, in every figure."""

    label: str
    colour: str
    marker: str | tuple
    dashes: tuple | str = ""

    @property
    def linestyle(self):
        """The dashes as matplotlib has them."""
        return (0, self.dashes) if self.dashes else "-"


@functools.cache
def look(method):
    """The one look of a method, whichever others are shown beside it."""
    if method in methods.looks():
        label, colour, marker, dashes = methods.looks()[method]
        return Look(label, COLOURS[colour], marker, dashes)
    colour, marker = OTHERS[zlib.crc32(method.encode()) % len(OTHERS)]
    return Look(method.replace("_", " "), colour, marker)


def styles(kinds):
    """What seaborn takes to show these as they look, {name: Look}: hue, style and their maps."""
    return {
        "palette": {name: kind.colour for name, kind in kinds.items()},
        "markers": {name: kind.marker for name, kind in kinds.items()},
        "dashes": {name: kind.dashes for name, kind in kinds.items()},
    }


def lighter(colour, share):
    """A colour mixed with so much white: share 0 is the colour itself, 1 is white."""
    return tuple(part + (1 - part) * share for part in to_rgb(colour))


def is_dark(colour):
    """Whether white is easier to read on a colour than black, by its luma (ITU-R BT.601)."""
    return np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) < 0.45
