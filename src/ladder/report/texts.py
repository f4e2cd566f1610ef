"""Render the texts of the paper and its supplement from templates.

Every `.tex` beside the paper and in a chapter is a template (`telling/templates.py`). A chapter's template can call the
functions of `telling/functions.py` and of its own `text.py`. Every template can call `result(key)`, a number about the
study as a whole, `claimed_ratio` and `verdict` of any claim by `<chapter>/<key>`, and the functions of a chapter by its
name, as in `gemv.speedup("serial", "openmp")`.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from jinja2 import UndefinedError

from ladder.catalogue import code_errors
from ladder.report import chapters, ratios
from ladder.report.latex import Missing
from ladder.report.telling import functions, templates
from ladder.report.telling.chapter_study import NotMeasured, look_up
from ladder.store.study import Study

EMPTY: Mapping[str, Any] = MappingProxyType({})


def render(study, values, paper_templates=()):
    """All texts, {path in the folder of the typesetting: text}.

    `values` are those of `numbers.numbers`, `paper_templates` the paths of the templates outside of chapters.
    """
    shared = shared_functions(study, values)
    texts = {Path(path).name: templates.render(path, shared) for path in paper_templates}
    for chapter in chapters.chapters():
        chapter_texts = render_chapter(chapter, study, shared)
        texts |= {f"chapters/{chapter.workload}/{name}.tex": text for name, text in chapter_texts.items()}
    return texts


def render_chapter(chapter, study, shared=EMPTY):
    """The texts of a chapter, {name: text}; its templates can call the chapter's and the shared functions."""
    own_functions = functions.template_names(chapter.study(study)) if chapter.has_lines else {}
    paths = (chapter.folder / name for name in chapters.TEMPLATE_FILES)
    return {path.stem: templates.render(path, {**shared, **own_functions}) for path in paths if path.is_file()}


def require_names(chapter):
    """Refuse unknown names in a chapter's templates, before anything is measured. Raises LadderError."""
    study = Study({}, None)
    shared = dict.fromkeys(("result", "claimed_ratio", "verdict"), placeholder)
    others = {other.workload: PlaceholderFunctions() for other in chapters.chapters() if other.has_lines}
    own_functions = functions.template_names(chapter.study(study)) if chapter.has_lines else {}
    for path in filter(Path.is_file, (chapter.folder / name for name in chapters.TEMPLATE_FILES)):
        # The chapter's own functions needn't expect a study without measurements, nor words in place of values.
        with contextlib.suppress(NotMeasured, UndefinedError, *code_errors.MISTAKES):
            templates.render(path, {**shared, **others, **own_functions}, is_trial=True)


def placeholder(*arguments, **options):
    """Words in place of any number."""
    return Missing(NotMeasured().words)


class PlaceholderFunctions:
    """A namespace with any function, each of which returns words in place of a number."""

    def __getattr__(self, name):
        return placeholder


def shared_functions(study, values):
    """The functions and namespaces that every template can use, {name: function or namespace}."""
    claims = {f"{chapter.workload}/{claim.key}": claim for chapter, _, claim in chapters.verdicts(study)}

    def result(key):
        """A number by its key."""
        value = look_up("number", key, values)
        if isinstance(value, Missing):
            raise NotMeasured(value)
        return value

    def claimed_ratio(key):
        """The ratio that a claim is about, as measured."""
        return ratios.prose(look_up("claim", key, claims).answer.ratio)

    def verdict(key):
        """The verdict on a claim."""
        return look_up("claim", key, claims).answer.verdict

    with_lines = [chapter for chapter in chapters.chapters() if chapter.has_lines]
    namespaces = {
        chapter.workload: SimpleNamespace(**functions.template_names(chapter.study(study))) for chapter in with_lines
    }
    return {"result": result, "claimed_ratio": claimed_ratio, "verdict": verdict} | namespaces
