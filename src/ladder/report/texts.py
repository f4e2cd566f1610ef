"""The texts of the paper and its supplement, rendered from templates: what each may ask for, and what it becomes.

Every `.tex` beside the paper and in a chapter is a template (`telling/templates.py`); one without a tag stays as it is.
A chapter's text asks for what `telling/functions.py` has, and for what its own `text.py` adds. All texts may ask for
`result(key)`, a number of the study as a whole, and for any claim by `<chapter>/<key>`; the paper's own
texts have the functions of a chapter by its name, as in `gemv.speedup("serial", "openmp")`.
"""

from pathlib import Path
from types import MappingProxyType, SimpleNamespace

from ladder.report import chapters, ratios
from ladder.report.latex import Missing
from ladder.report.telling import functions, templates
from ladder.report.telling.chapter_study import NotMeasured, nearest

NONE = MappingProxyType({})


def rendered(study, values, paper=()):
    """All texts, {path in the folder of the typesetting: text}; `values` are the numbers, `paper` its own templates."""
    shared = of_the_study(study, values)
    texts = {Path(path).name: templates.render(path, shared) for path in paper}
    for chapter in chapters.chapters():
        rendered = rendered_chapter(chapter, study, shared)
        texts |= {f"chapters/{chapter.workload}/{name}.tex": text for name, text in rendered.items()}
    return texts


def rendered_chapter(chapter, study, shared=NONE):
    """The texts of a chapter, {name: text}, which may ask for what its study and the shared functions have."""
    more = functions.of_chapter(chapter.study(study)) if chapter.has_lines else {}
    paths = (chapter.folder / name for name in chapters.TEMPLATES)
    return {path.stem: templates.render(path, {**shared, **more}) for path in paths if path.is_file()}


def of_the_study(study, values):
    """What every text may ask for."""
    claims = {f"{chapter.workload}/{claim.key}": claim for chapter, _, claim in chapters.verdicts(study)}

    def result(key):
        """A number by its key."""
        value = nearest("number", key, values)
        if isinstance(value, Missing):
            raise NotMeasured(value)
        return value

    def claimed_ratio(key):
        """The ratio that a claim is about, as measured."""
        return ratios.prose(nearest("claim", key, claims).answer.ratio)

    def verdict(key):
        """The verdict on a claim."""
        return nearest("claim", key, claims).answer.verdict

    with_lines = [chapter for chapter in chapters.chapters() if chapter.has_lines]
    by_name = {each.workload: SimpleNamespace(**functions.of_chapter(each.study(study))) for each in with_lines}
    return {"result": result, "claimed_ratio": claimed_ratio, "verdict": verdict} | by_name
