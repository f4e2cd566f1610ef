"""How every figure looks: one colour and marker per method, legible on A4, the same bytes for the same data."""

import itertools
import textwrap
import zlib
from dataclasses import dataclass
from types import MappingProxyType

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, NullFormatter, NullLocator

WIDTH = 6.29  # inches, a little less than the text of an A4 page with margins of 25 mm: printed at its own size
GREY, LIGHT, DARK = "#949494", "#d9d9d9", "#333333"
# Colours of seaborn's palette "colorblind"; grey is kept for what isn't a method.
BLUE, ORANGE, GREEN, RED, PINK, BROWN = "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161"
FAR = 1e30  # beyond every axis
UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
YELLOW, SKY, INDIGO = "#ece133", "#56b4e9", "#332288"


@dataclass(frozen=True)
class Look:
    """How a method is shown, in every figure."""

    label: str
    colour: str
    marker: str | tuple
    dashes: tuple | str = "-"


# In the order in which methods are listed: the rungs, then the peers.
LOOKS = MappingProxyType(
    {
        "openmp": Look("OpenMP loops", RED, "o"),
        "interchanged": Look("loops interchanged", ORANGE, "^", (0, (5, 1.5))),
        "tiled": Look("tiled", GREEN, "s", (0, (3, 1, 1, 1))),
        "openmp_bound spread": Look("OpenMP, bound spread", ORANGE, ">", (0, (5, 1.5))),
        "openmp_bound close": Look("OpenMP, bound close", GREEN, "<", (0, (3, 1, 1, 1))),
        "blas": Look("BLAS", BLUE, "D", (0, (1, 1))),
        "mpi": Look("MPI", PINK, (4, 1, 0), (0, (6, 1, 1, 1))),
        "mpi_openmp": Look("MPI + OpenMP", BROWN, (4, 1, 45), (0, (2, 1))),
        "cuda_naive": Look("CUDA naive", RED, "*"),
        "cuda_coalesced": Look("CUDA transposed", PINK, (3, 1, 0)),
        "cuda_shared": Look("CUDA shared memory", ORANGE, "d"),
        "cuda_tiled": Look("CUDA register tiles", GREEN, "8"),
        "cuda_warp": Look("CUDA warps on rows", GREEN, (6, 1, 0)),
        "cuda_mma": Look("CUDA tensor cores", PINK, "H"),
        "cublas": Look("cuBLAS", BLUE, "p"),
        "mpi_cublas": Look("MPI + cuBLAS", SKY, (5, 1, 0), (0, (4, 1))),
        "nccl_cublas": Look("NCCL + cuBLAS", INDIGO, (8, 1, 0), (0, (1, 1))),
        "c_openmp": Look("OpenMP loops in C", BROWN, "v", (0, (4, 1, 1, 1, 1, 1))),
        "numpy_loop": Look("NumPy by hand", PINK, "P"),
        "pytorch": Look("PyTorch", SKY, "X"),
        "pytorch_cuda": Look("PyTorch on the GPU", SKY, "h"),
    }
)
# Methods from outside the repository share these by their names.
OTHERS = list(itertools.product((YELLOW, "#7a5195", "#003f5c", "#8c564b"), ("<", ">", "p", "h")))


def look(method):
    """The one look of a method, whichever others are shown beside it."""
    colour, marker = OTHERS[zlib.crc32(method.encode()) % len(OTHERS)]
    return LOOKS.get(method, Look(method.replace("_", " "), colour, marker))


def ordered(methods):
    """Methods without repetition in the order in which they are listed."""
    known = list(LOOKS)
    return sorted(set(methods), key=lambda method: (known.index(method) if method in LOOKS else len(known), method))


def lighter(colour, share):
    """A colour mixed with so much white: share 0 is the colour itself, 1 is white."""
    return tuple(part + (1 - part) * share for part in to_rgb(colour))


def is_dark(colour):
    """Whether white is easier to read on a colour than black, by its luma (ITU-R BT.601)."""
    return np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) < 0.45


def context():
    """Matplotlib's settings for drawing and for saving."""
    return matplotlib.rc_context(
        {
            "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
            "font.size": 7.5,
            "axes.titlesize": 7.5,
            "axes.labelsize": 7.5,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "figure.titlesize": 8,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.linewidth": 0.6,
            "axes.edgecolor": DARK,
            "axes.axisbelow": True,
            "grid.color": "#e6e6e6",
            "grid.linewidth": 0.5,
            "xtick.major.width": 0.6,
            "ytick.major.width": 0.6,
            "xtick.major.size": 2.5,
            "ytick.major.size": 2.5,
            "lines.linewidth": 1.2,
            "lines.markersize": 4,
            "legend.frameon": False,
            "legend.handlelength": 2.6,
            "legend.columnspacing": 1.4,
            "pdf.fonttype": 42,
            "svg.hashsalt": "ladder",
            "savefig.dpi": 200,
        }
    )


def save(figure, path):
    """Write a figure without the date, so that the same figure is the same file; it is laid out the first time."""
    if figure.get_layout_engine().__class__.__name__ == "ConstrainedLayoutEngine":
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
    suffix = str(path).rpartition(".")[2]
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    figure.savefig(path, metadata=dates.get(suffix))


def new(height):
    """An empty figure of the text's width; height in inches."""
    return Figure(figsize=(WIDTH, height), layout="constrained")


def blank(axes, sentence):
    """Say in place of a drawing why there is none."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", color=DARK, wrap=True, transform=axes.transAxes)


def empty(what):
    """A figure that says that nothing of it was measured."""
    figure = new(1.2)
    blank(figure.subplots(), f"No measurement of {what} is there.")
    return figure


def bands(figure, counts, beside=3, inches=None):
    """Axes per machine: {machine: [axes]} for {machine: number of panels}, the machine's name above its panels.

    Machines stand side by side, up to `beside` of them, where none has more than one panel; else below each other, up
    to three panels in a row, and `inches`, by machine, says how the height is shared if not by rows.
    """
    narrow = max(counts.values()) == 1
    columns = min(len(counts), beside) if narrow else 1
    heights = None if narrow else list((inches or {name: -(-count // 3) for name, count in counts.items()}).values())
    parts = figure.subfigures(-(-len(counts) // columns), columns, squeeze=False, height_ratios=heights)
    names, found = wrapped(counts, 84 // columns), {}
    for part, name, (machine, count) in zip(parts.flat, names, counts.items(), strict=False):
        headline(part, name)
        grid = part.subplots(-(-count // 3), min(count, 3), squeeze=False)
        found[machine] = list(grid.flat[:count])
        for axes in grid.flat[count:]:
            axes.set_axis_off()
    return found


def wrapped(names, width):
    """Names in lines of so many characters, in equally many lines, so that what stands below them is level."""
    lines = [textwrap.fill(name, width) for name in names]
    most = max(text.count("\n") for text in lines)
    return [text + "\n " * (most - text.count("\n")) for text in lines]


def headline(part, machine):
    """The machine's name above its part of a figure."""
    part.suptitle(machine, x=0.01, ha="left", weight="bold")


def rows_of_bands(counts, beside=3):
    """How many rows of panels `bands` makes."""
    if max(counts.values()) == 1:
        return -(-len(counts) // beside)
    return sum(-(-count // 3) for count in counts.values())


def shared_height(counts, tall):
    """The inches of a figure of `bands`, and how they are shared, from those of a panel of each machine."""
    if max(counts.values()) == 1:
        return max(tall.values()) * rows_of_bands(counts), tall
    tall = {name: one * -(-counts[name] // 3) for name, one in tall.items()}
    return sum(tall.values()), tall


def share(bands):
    """One range of y for the panels of a machine, and for all machines where they show the same problems."""
    titles = [[axes.get_title(loc="left") for axes in panels] for panels in bands.values()]
    same = all(one == titles[0] for one in titles)
    for panels in [list(itertools.chain(*bands.values()))] if same else bands.values():
        limits = [axes.get_ylim() for axes in panels]
        for axes in panels:
            axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def curve(axes, x, found, method):
    """Medians with intervals over x on a line; hollow markers where a case has not converged.

    `found` has the columns median, low, high and converged.
    """
    one = look(method)
    axes.plot(x, found["median"], color=one.colour, linestyle=one.dashes)
    points(axes, x, found["median"], found, one)


def points(axes, x, y, found, one, along="y"):
    """Markers with the interval of the median along an axis."""
    middle = x if along == "x" else y
    # An infinite interval leaves the panel on both sides.
    low, high = np.maximum(found["low"], 1 / FAR), np.minimum(found["high"], FAR)
    arms = {f"{along}err": [np.asarray(middle) - low, high - np.asarray(middle)]}
    axes.errorbar(x, y, **arms, fmt="none", ecolor=one.colour, elinewidth=0.8, capsize=1.6, capthick=0.8)
    for converged in (True, False):
        chosen = np.asarray(found["converged"], bool) == converged
        face = one.colour if converged else "white"
        points = np.asarray(x)[chosen], np.asarray(y)[chosen]
        axes.plot(*points, marker=one.marker, linestyle="", color=one.colour, mfc=face, mew=0.9)


def extent(found, reach=4.0, pad=1.25):
    """Limits of a logarithmic axis that hold all medians, and intervals as far as a factor `reach` from them."""
    low = np.maximum(found["low"], found["median"] / reach).min()
    high = np.minimum(found["high"], found["median"] * reach).max()
    return low / pad, high * pad


def plain(value, _=None):
    """A number without exponent or trailing zeros."""
    return f"{value:,.10f}".rstrip("0").rstrip(".")


class RoundNumbers(Locator):
    """Round numbers on a logarithmic axis, as many as there is room for."""

    STEPS = (np.arange(10, 100) / 10, np.arange(5, 50) / 5, np.arange(2, 20) / 2, range(1, 10), (1, 2, 5), (1, 3), (1,))

    def __init__(self, most):
        self.most = most

    def __call__(self):
        low, high = sorted(self.axis.get_view_interval())
        return self.tick_values(low, high)

    def tick_values(self, vmin, vmax):
        decades = 10.0 ** np.arange(np.floor(np.log10(vmin)), np.ceil(np.log10(vmax)) + 1)
        for steps in self.STEPS:
            ticks = np.outer(decades, steps).ravel()
            ticks = ticks[(ticks >= vmin) & (ticks <= vmax)]
            if len(ticks) <= self.most:
                return ticks
        return ticks[:: -(-len(ticks) // self.most)]


def log_axis(axis, limits, words=plain, most=7):
    """A logarithmic axis with at most so many round numbers."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": limits})
    axis.set_major_locator(RoundNumbers(most))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(words))


def time_axis(axis, limits, most=7):
    """A logarithmic axis of times in seconds, labelled with their units."""
    log_axis(axis, limits, lambda seconds, _: time(seconds, plain), most)


def thread_axis(axis, threads, more=()):
    """A logarithmic axis of these numbers of threads, with a tick at each and words where there is room.

    `more` are further numbers that have words where they are shown.
    """
    ticks = sorted({int(count) for count in threads})
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": (ticks[0] / 1.2, ticks[-1] * 1.2)})
    axis.set_major_locator(FixedLocator([*more, *apart(ticks)]))
    axis.set_minor_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_formatter(NullFormatter())


def apart(ticks, most=8):
    """Of sorted numbers, the largest and those below that leave room for each other on a logarithmic axis.

    Neighbours are at least a part of the axis in `most` apart.
    """
    factor = (ticks[-1] / ticks[0]) ** (1 / most)
    chosen = [ticks[-1]]
    for tick in reversed(ticks[:-1]):
        if tick * factor <= chosen[-1] * 1.0001:  # in spite of rounding
            chosen.append(tick)
    return chosen[::-1]


def time(seconds, words=None):
    """A time with its unit, by default with three digits."""
    name, per_second = next(((name, scale) for name, scale in UNITS if seconds * scale >= 0.9995), UNITS[-1])
    return f"{(words or three)(seconds * per_second)} {name}"


def three(value):
    """A number with three digits, or all of those before the point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:#.3g}"


def percent(share):
    """A share with two digits."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def threads(count):
    """A number of threads in words."""
    return "1 thread" if count == 1 else f"{count} threads"


def handle(method, line=True):
    """A method's entry in a legend."""
    one = look(method)
    return Line2D([], [], color=one.colour, marker=one.marker, linestyle=one.dashes if line else "", label=one.label)


def legend(figure, handles, converged=True, beside=False):
    """The legend of a whole figure, below it or beside it, with a note on hollow markers where there are any."""
    if not converged:
        note = "hollow: not converged"
        handles = [*handles, Line2D([], [], color=DARK, marker="o", mfc="white", mew=0.9, linestyle="", label=note)]
    if not handles:
        return
    if beside:
        figure.legend(handles=handles, loc="outside right center")
        return
    for most in range(5, 0, -1):  # columns, as many as have room
        rows = -(-len(handles) // most)
        found = figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows))
        if most == 1 or found.get_window_extent().width <= figure.bbox.width:
            return
        found.remove()
