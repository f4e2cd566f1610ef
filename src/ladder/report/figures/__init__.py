"""The chapters' figures, each a module in a workload's folder `paper/`, and the kit that draws them.

The figure `gemm_tilings` is the module `tilings` of the chapter of `gemm`. It has a function `draw`, which returns a
matplotlib Figure, and constants that define the keyword arguments of `draw`:

| constant | meaning; from EXPERIMENTS on they are optional |
| --- | --- |
| TITLE, CATEGORY | the figure's title and group in the report; a chapter's `__init__.py` may have a CATEGORY for all |
| CAPTION | the caption in the paper and the report, plain text with code in `backticks` |
| EXPERIMENTS | required in the configuration; argument `tables`, {experiment: {table: DataFrame}} |
| USES_CEILINGS | argument `ceilings`, {machine: result of `ladder.store.roofs.of_samples`} |
| USES_DATA | argument `data`, (name of the data set, the data set), that of the workload's cases |
| USES_ARTEFACTS | argument `artefacts`, {file: path} of these files of the workload, see `ladder.catalogue.datasets` |

In a chapter with `lines.py`, `draw` gets a `study` in place of `tables` and `ceilings`: the ChapterStudy of them
(`report/telling/chapter_study.py`), as the chapter's text does.

Planning reads the constants as text, without importing a module; a module without a TITLE is no figure. The kit names
no workload: `theme` is the style of all figures, `methods` and `looks` that of methods, `layout` arranges panels,
`scales` and `formats` are for axes; `medians` prepares tables for `marks`, `bars`, `by_threads`, `heat` and
`waterfall`; `line_names` writes names at the ends of lines; `timeline` draws traces, `roofline` roofs.
"""

import functools
import hashlib
import importlib
import re

from ladder.catalogue import contracts, literals, locations, sources, workloads
from ladder.errors import LadderError
from ladder.report import chapter_code, chapters
from ladder.report.figures import methods

# The constants with their defaults.
CONSTANTS = {name: contracts.FIGURE.names[name].default for name in contracts.constants(contracts.FIGURE)}
FORMATS = ("pdf", "svg", "png")


def modules():
    """The figures of all chapters, {name: (workload, path of the module)}, in the order of their names."""
    return modules_below(tuple(locations.roots()))


@functools.cache
def modules_below(roots):
    """The figures of all chapters; cached by the folders of workloads, `roots`, because many functions need them."""
    paths = {}
    for chapter in chapters.chapters():
        for path in chapter.folder.glob("*.py"):
            name = f"{chapter.workload}_{path.stem}"
            if "TITLE" in literals.read(path) and path.stem != "__init__":
                if name in paths:
                    raise LadderError(f"{path} and {paths[name][1]} are both the figure {name!r}: rename one of them.")
                paths[name] = chapter.workload, path
    return dict(sorted(paths.items()))


def names():
    """The names of all figures."""
    return list(modules())


def constants(name):
    """A figure's constants, read without importing it. Raises LadderError for an unknown figure."""
    figures = modules()
    if name not in figures:
        raise LadderError(f"There is no figure {name!r}: choose one of {', '.join(figures)}.")
    _, path = figures[name]
    values = CONSTANTS | {"CATEGORY": literals.read(path.parent / "__init__.py").get("CATEGORY")}
    values |= {key: value for key, value in literals.read(path).items() if key in CONSTANTS}
    if missing := [key for key in ("CATEGORY", "CAPTION") if not values[key]]:
        raise LadderError(f"{path} has no {missing[0]} in plain text: add it beside TITLE.")
    return values


def caption(name):
    """A figure's caption as reStructuredText, for the report."""
    parts = " ".join(constants(name)["CAPTION"].split()).split("`")  # text and code alternate
    parts = [f"``{part}``" if number % 2 else re.sub(r"[*_|\\]", r"\\\g<0>", part) for number, part in enumerate(parts)]
    return "".join(parts)


def workload(name):
    """The workload of a figure's chapter."""
    constants(name)
    return modules()[name][0]


def drawable_names(experiments):
    """The names of the figures whose experiments are all among those given."""
    return [name for name in names() if set(constants(name)["EXPERIMENTS"]) <= set(experiments)]


def fingerprint(name):
    """A short digest of the code that a figure depends on: its module, its chapter's data, the kit, and all looks."""
    constants(name)
    workload, path = modules()[name]
    code = sources.digest(
        *chapters.data_modules(workload, path.parent), module_name(workload, path), f"{__name__}:write"
    )
    return hashlib.sha256(f"{code} {methods.looks()} {methods.literals_of_chapters('METHOD')}".encode()).hexdigest()[
        :16
    ]


def module_name(workload, path):
    """The import name of a figure's module."""
    return f"ladder.workloads.{workload}.paper.{path.stem}"


def module(name):
    """The imported module of a figure."""
    constants(name)
    workload, path = modules()[name]
    workloads.load(workload)
    return importlib.import_module(module_name(workload, path))


def draw(name, **inputs):
    """The Figure; `inputs` are the arguments that its constants define."""
    _, path = modules()[name]
    with chapter_code.explain_mistakes(f"The figure {name}", path):
        if (path.parent / chapters.LINES_FILE).is_file() and "tables" in inputs:
            from ladder.report.telling import chapter_study
            from ladder.store import study as queries

            study = queries.Study(inputs.pop("tables"), None, roofs=inputs.pop("ceilings", None))
            inputs["study"] = chapter_study.study_of_chapter(workload(name), study)
        return module(name).draw(**inputs)


def write(name, out, **inputs):
    """Draw a figure and write it as `out`.pdf, .svg and .png; the same inputs give the same bytes."""
    from ladder.report.figures import theme  # here, because planning doesn't need matplotlib, which loads slowly

    with theme.context():
        figure = draw(name, **inputs)
        for suffix in FORMATS:
            theme.save(figure, f"{out}.{suffix}")
