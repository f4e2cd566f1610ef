"""The figures: a module each, named like its files, with constants that say what it reads and `draw`, which draws it.

| constant | meaning |
| --- | --- |
| TITLE, CATEGORY | what the report calls the figure and its group |
| EXPERIMENTS | draw gets `tables`: {experiment: {table: DataFrame}}, see `ladder.collect` |
| USES_CEILINGS | draw gets `ceilings`: {machine: what `ladder.ceilings.summarise` found} |
| USES_DATA | draw gets `data`: (name of the data set, `ladder.data.Dataset`) |

Planning reads the constants as text, without importing a module; a module without a TITLE is no figure.
"""

import ast
import functools
import importlib
from pathlib import Path

from ladder.catalogue import sources
from ladder.errors import LadderError

FOLDER = Path(__file__).parent
CONSTANTS = {"TITLE", "CATEGORY", "EXPERIMENTS", "USES_CEILINGS", "USES_DATA"}
FORMATS = ("pdf", "svg", "png")


@functools.cache
def constants(name):
    """A figure's constants, read without importing it. Raises LadderError when there is no such figure."""
    path, found = FOLDER / f"{name}.py", {"EXPERIMENTS": (), "USES_CEILINGS": False, "USES_DATA": False}
    for node in ast.parse(path.read_text()).body if path.is_file() else ():
        given = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
        found |= {name: ast.literal_eval(node.value) for name in given if name in CONSTANTS}
    if "TITLE" not in found:
        raise LadderError(f"There is no figure {name!r}: choose one of {', '.join(names())}.")
    return found


def names():
    """The names of all figures."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if "\nTITLE = " in path.read_text())


def drawable(experiments, data=True):
    """The figures whose experiments are all among those given; without data, none that needs the data set."""
    return [
        name
        for name in names()
        if set(constants(name)["EXPERIMENTS"]) <= set(experiments) and (data or not constants(name)["USES_DATA"])
    ]


def fingerprint(name):
    """A short digest of the code that a figure depends on: its module's, and that of whatever draws it."""
    constants(name)
    return sources.of(f"ladder.report.figures.{name}", "ladder.report.figures:write")


def module(name):
    """The module of a figure."""
    constants(name)
    return importlib.import_module(f"ladder.report.figures.{name}")


def write(name, out, **given):
    """Draw a figure from what its constants ask for, and write `out`.pdf, .svg and .png; same input, same bytes."""
    from ladder.report.figures import style  # here, because planning need not wait for matplotlib

    with style.context():
        figure = module(name).draw(**given)
        for suffix in FORMATS:
            style.save(figure, f"{out}.{suffix}")
