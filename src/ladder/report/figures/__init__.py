"""The figures, and the kit that draws them: found in the chapters, a module each in a workload's folder `paper/`.

The figure `gemm_tilings` is the module `tilings` of the chapter of `gemm`. Its constants say what it reads, and `draw`
draws it:

| constant | meaning; from EXPERIMENTS on they are optional |
| --- | --- |
| TITLE, CATEGORY | what the report calls the figure and its group; a chapter's `__init__.py` may name it for all |
| CAPTION | what there is to see, in plain text with code in `backticks`, for the paper and the report |
| EXPERIMENTS | the configuration must have all; draw gets `tables`, {experiment: {table: DataFrame}} |
| USES_CEILINGS | draw gets `ceilings`: {machine: what `ladder.store.roofs.of_samples` found} |
| USES_DATA | draw gets `data`: (name of the data set, the data set), that of the workload's cases |
| USES_ARTEFACTS | draw gets `artefacts`: {file: path} of these of the workload, see `ladder.catalogue.datasets` |

In a chapter with `lines.py`, `draw` gets a `study` in place of `tables` and `ceilings`: the ChapterStudy of them
(`report/telling/chapter_study.py`), the same that its text asks.

`draw` returns a matplotlib Figure. Planning reads the constants as text, without importing a module; a module without a
TITLE supports others. All else in this package is the kit, which names no workload: `theme` is how figures look,
`methods` and `looks` how methods do, `layout` is the frame of panels, `scales` and `formats` the axes; `medians` makes
of tables what `marks`, `bars`, `by_threads`, `heat` and `waterfall` draw, `peaks` draws ceilings, `ends` names lines;
`timeline` draws traces, `roofline` roofs.
"""

import functools
import hashlib
import importlib
import re

from ladder.catalogue import contracts, literals, sources, workloads
from ladder.errors import LadderError
from ladder.report import chapters
from ladder.report.figures import methods

# The constants, with what they are where a module doesn't state them.
CONSTANTS = {name: contracts.FIGURE.names[name].default for name in contracts.constants(contracts.FIGURE)}
FORMATS = ("pdf", "svg", "png")


def modules():
    """The figures of all chapters, {name: (workload, path of the module)}, in the order of their names."""
    return modules_below(tuple(workloads.roots()))


@functools.cache
def modules_below(roots):
    """The figures of all chapters in the folders of workloads, for which many functions ask."""
    paths = {}
    for chapter in chapters.chapters():
        for path in chapter.folder.glob("*.py"):
            name = f"{chapter.workload}_{path.stem}"
            if "TITLE" in literals.read(path) and path.stem != "__init__":
                if name in paths:
                    raise LadderError(f"{path} and {paths[name][1]} are the figure {name!r} both: rename one of them.")
                paths[name] = chapter.workload, path
    return dict(sorted(paths.items()))


def names():
    """The names of all figures."""
    return list(modules())


def constants(name):
    """A figure's constants, read without importing it. Raises LadderError when there is no such figure."""
    every = modules()
    if name not in every:
        raise LadderError(f"There is no figure {name!r}: choose one of {', '.join(every)}.")
    _, path = every[name]
    values = CONSTANTS | {"CATEGORY": literals.read(path.parent / "__init__.py").get("CATEGORY")}
    values |= {key: value for key, value in literals.read(path).items() if key in CONSTANTS}
    if missing := [key for key in ("CATEGORY", "CAPTION") if not values[key]]:
        raise LadderError(f"{path} has no {missing[0]} in plain text: say it beside TITLE.")
    return values


def caption(name):
    """A figure's caption as reStructuredText, for the report."""
    parts = " ".join(constants(name)["CAPTION"].split()).split("`")  # text and code in turns
    parts = [f"``{part}``" if number % 2 else re.sub(r"[*_|\\]", r"\\\g<0>", part) for number, part in enumerate(parts)]
    return "".join(parts)


def workload(name):
    """The workload of a figure's chapter."""
    constants(name)
    return modules()[name][0]


def drawable(experiments):
    """The figures whose experiments are all among those given."""
    return [name for name in names() if set(constants(name)["EXPERIMENTS"]) <= set(experiments)]


def fingerprint(name):
    """A short digest of the code that a figure depends on: its module's, that of whatever draws it, and all looks."""
    constants(name)
    workload, path = modules()[name]
    code = sources.of(*chapters.data_modules(workload, path.parent), named(workload, path), f"{__name__}:write")
    return hashlib.sha256(f"{code} {methods.looks()} {methods.of_chapters('METHOD')}".encode()).hexdigest()[:16]


def named(workload, path):
    """The name of the module of a figure."""
    return f"ladder.workloads.{workload}.paper.{path.stem}"


def module(name):
    """The module of a figure."""
    constants(name)
    workload, path = modules()[name]
    workloads.load(workload)
    return importlib.import_module(named(workload, path))


def draw(name, **inputs):
    """The Figure, from what its constants ask for."""
    _, path = modules()[name]
    if (path.parent / chapters.LINES).is_file() and "tables" in inputs:
        from ladder.report.telling import chapter_study
        from ladder.store import study as queries

        study = queries.Study(inputs.pop("tables"), None, roofs=inputs.pop("ceilings", None))
        inputs["study"] = chapter_study.of_chapter(workload(name), study)
    return module(name).draw(**inputs)


def write(name, out, **inputs):
    """Draw a figure from what its constants ask for, and write `out`.pdf, .svg and .png; same input, same bytes."""
    from ladder.report.figures import theme  # here, because planning need not wait for matplotlib

    with theme.context():
        figure = draw(name, **inputs)
        for suffix in FORMATS:
            theme.save(figure, f"{out}.{suffix}")
