"""The style of every figure, seaborn's theme at the size of the printed page, and files with the same bytes every time.

Only this module imports matplotlib and seaborn, isolated from the user's settings; other modules import their names
from here.
"""

import contextlib
import io
import sys

from ladder.records.files import write_atomically
from ladder.report.figures.isolation import isolate_matplotlib, keep_own_fonts, without_source_date

WIDTH = 6.29  # inches, a little less than the text of an A4 page with margins of 25 mm: printed at its own size
MAX_HEIGHT = 9.5  # inches, what such a page has above a caption
GREY, LIGHT, DARK = "#949494", "#d9d9d9", "#333333"
SMALL = 7  # points, the smallest type
# Modules that seaborn imports if they are installed; no figure uses them, and they take half of a figure's time.
UNUSED_MODULES = ("scipy.stats", "scipy.cluster", "scipy.spatial")
RC = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "figure.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": DARK,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.6,
    "ytick.minor.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 2,
    "ytick.minor.size": 2,
    "lines.markersize": 4,
    "patch.force_edgecolor": False,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.4,
    "pdf.fonttype": 42,
    "svg.hashsalt": "ladder",
    "savefig.dpi": 200,
}


@contextlib.contextmanager
def hide_modules(modules):
    """Make imports of these modules fail in this context, unless they are imported already."""
    missing = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(missing))
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


with isolate_matplotlib(), hide_modules(UNUSED_MODULES):
    import matplotlib
    import seaborn as sns
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager
    from matplotlib.image import imread, imsave
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.textpath import TextPath
    from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, NullFormatter, NullLocator

# The names that other modules import from here.
__all__ = ["Figure", "Line2D", "Patch", "TextPath", "imread", "imsave", "sns", "to_rgb"]
__all__ += ["FixedLocator", "FuncFormatter", "Locator", "NullFormatter", "NullLocator"]
keep_own_fonts(fontManager, matplotlib.get_data_path())


@contextlib.contextmanager
def context():
    """The settings for drawing and saving: matplotlib's defaults, seaborn's style `ticks` for paper, and RC.

    The defaults are restored first, because matplotlib may have been imported before, with a user's settings.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(sns.axes_style("ticks") | sns.plotting_context("paper") | RC)
        yield


def save(figure, path):
    """Write a figure without a date, so that its bytes are reproducible; the first call fixes its layout."""
    if figure.get_layout_engine().__class__.__name__ == "ConstrainedLayoutEngine":
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine(None)  # with a layout engine, saving draws twice
    suffix = str(path).rpartition(".")[2]
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    buffer = io.BytesIO()  # `write_atomically` reports a full disk in a sentence, matplotlib by a traceback
    with without_source_date():
        figure.savefig(buffer, format=suffix, metadata=dates.get(suffix))
    write_atomically(path, buffer.getvalue())
