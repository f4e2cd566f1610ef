"""A figure's bytes depend neither on a user's settings of matplotlib nor on other variables of the environment."""

import os
import subprocess
import sys

import pytest

# Draws a small figure into the folder that is its argument.
PROGRAM = """
import sys
import pandas as pd
from ladder.report.figures import theme
with theme.context():
    from ladder.report.figures import layout, marks
    figure = layout.new_figure(2)
    axes = figure.subplots()
    times = pd.DataFrame({"method": ["openmp", "blas"] * 2, "threads": [1, 1, 2, 2], "median": [1.0, 2.0, 3.0, 4.0]})
    marks.curves(axes, times.assign(low=times["median"] / 1.1, high=times["median"] * 1.1, converged=True), "threads")
    axes.set_title("äöü × $10^2$")
    layout.legend(figure, [layout.method_handle("openmp")])
    for suffix in ("svg", "pdf", "png"):
        theme.save(figure, f"{sys.argv[1]}/x.{suffix}")
"""
SETTINGS = "font.size: 30\nsavefig.dpi: 50\nimage.origin: lower\nbackend: nosuch\ntext.usetex: True\n"


# Each of the following functions prepares a folder as the working directory of PROGRAM, and returns the environment
# variables to set for it, None to unset one.


def settings_beside(folder):
    (folder / "matplotlibrc").write_text(SETTINGS)
    return {}


def broken_settings_beside(folder):
    (folder / "matplotlibrc").write_bytes(b"\xff\xfe")
    return {}


def settings_by_name(folder):
    (folder / "rc").write_text(SETTINGS)
    return {"MATPLOTLIBRC": str(folder / "rc")}


def settings_and_style_at_home(folder):
    """Settings and a broken style in the user's home."""
    for name, content in {"matplotlibrc": SETTINGS.encode(), "stylelib/a.mplstyle": b"\xff\xfe"}.items():
        path = folder / ".config/matplotlib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return {"HOME": str(folder)}


def no_home(folder):
    return {"HOME": None, "MPLCONFIGDIR": "/proc/nowhere"}


def jupyter(folder):
    return {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}


def invalid_date(folder):
    return {"SOURCE_DATE_EPOCH": "nonsense"}


def other_variables(folder):
    variables = {"MPLBACKEND": "nosuch", "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    return variables | invalid_date(folder) | {"FREETYPE_PROPERTIES": "truetype:interpreter-version=35"}


SINGLE_SURROUNDINGS = [settings_beside, settings_by_name, settings_and_style_at_home, no_home, jupyter, other_variables]


def several_at_once(folder):
    return broken_settings_beside(folder) | settings_by_name(folder) | jupyter(folder) | invalid_date(folder)


def draw(folder, changes):
    """The bytes of a small figure, drawn by another process in a folder and with changed variables."""
    variables = os.environ | changes
    variables = {name: value for name, value in variables.items() if value is not None}
    subprocess.run([sys.executable, "-c", PROGRAM, folder], cwd=folder, env=variables, check=True, capture_output=True)
    return [(folder / f"x.{suffix}").read_bytes() for suffix in ("svg", "pdf", "png")]


@pytest.fixture(scope="module")
def plain_bytes(tmp_path_factory):
    """The bytes of the figure without any settings of a user."""
    return draw(tmp_path_factory.mktemp("plain"), {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "surroundings",
    [several_at_once, *(pytest.param(settings, marks=pytest.mark.surroundings) for settings in SINGLE_SURROUNDINGS)],
)
def test_a_figure_is_the_same_in_all_surroundings(plain_bytes, surroundings, tmp_path):
    assert draw(tmp_path, surroundings(tmp_path)) == plain_bytes
