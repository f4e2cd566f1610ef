"""Mistakes in a chapter's own code, which only running it shows: each is a sentence with the line of the chapter."""

import re

import pytest

from ladder.errors import LadderError
from ladder.report import chapter_code, chapters, figures
from ladder.report.telling import templates
from ladder.report.telling.chapter_study import NotMeasured

CODE = 'def fails(study, *arguments):\n    return {}["bytes_"]\n'


@pytest.fixture
def failing_function(tmp_path):
    """The function `fails` of a file `code.py`, whose line 2 raises KeyError, with the path of the file."""
    path = tmp_path / "code.py"
    names = {}
    exec(compile(CODE, path, "exec"), names)
    return names["fails"], path


def test_a_mistake_in_a_table_names_the_line(failing_function, monkeypatch):
    fails, path = failing_function
    chapter = chapters.Chapter("gemm", path.parent, 1, "On gemm", ("square",))
    monkeypatch.setattr(chapters.Chapter, "table_of", lambda self, name, study: fails(study))
    with pytest.raises(
        LadderError, match=r"^The table `square` of the chapter gemm stopped with KeyError: 'bytes_'"
    ) as error:
        chapter.table("square", None)
    assert f"(line 2 of {path})" in str(error.value)


def test_a_mistake_in_a_figure_names_the_line(failing_function, monkeypatch):
    fails, path = failing_function
    monkeypatch.setattr(figures, "modules", lambda: {"gemm_own": ("gemm", path)})
    monkeypatch.setattr(figures, "module", lambda name: type("Module", (), {"draw": staticmethod(lambda: fails(1))}))
    with pytest.raises(
        LadderError, match=re.escape(f"The figure gemm_own stopped with KeyError: 'bytes_' (line 2 of {path})")
    ):
        figures.draw("gemm_own")


def test_a_mistake_in_a_claim_names_the_line(failing_function, monkeypatch):
    fails, path = failing_function
    chapter = chapters.Chapter("gemm", path.parent, 1, "On gemm", ())
    (path.parent / chapters.LINES_FILE).touch()
    monkeypatch.setattr(chapters, "chapters", lambda: [chapter])
    monkeypatch.setattr(chapters.Chapter, "study", fails)
    with pytest.raises(LadderError, match=re.escape(f"KeyError: 'bytes_' (line 2 of {path})")):
        chapters.verdicts(None)


@pytest.mark.parametrize("is_own_code", [True, False])
def test_a_mistake_in_a_text_names_the_line_of_the_code_and_of_the_text(
    failing_function, is_own_code, tmp_path, monkeypatch
):
    """The function may be another chapter's."""
    fails, path = failing_function
    monkeypatch.setattr(chapters, "chapters", lambda: [chapters.Chapter("gemm", path.parent, 1, "On gemm", ())])
    template = (path.parent if is_own_code else tmp_path / "other") / "text.tex"
    template.parent.mkdir(exist_ok=True)
    template.write_text("\n<<fails(1)>>")
    sentence = f"{template}:2: the call stopped with KeyError: 'bytes_' (line 2 of {path}). See docs/contracts.md."
    with pytest.raises(LadderError, match=f"^{re.escape(sentence)}$"):
        templates.render(template, {"fails": fails})


def test_a_wrong_argument_of_a_text_and_a_mistake_elsewhere_name_the_line_of_the_text(failing_function):
    fails, path = failing_function
    template = path.parent / "text.tex"
    for text, sentence in (
        ("<<fails()>>", "fails() missing 1 required positional argument: 'study'."),
        ("<<int('a')>>", "the call stopped with ValueError: invalid literal for int() with base 10: 'a'."),
    ):
        template.write_text(text)
        with pytest.raises(LadderError, match=f"^{re.escape(f'{template}:1: {sentence}')}$"):
            templates.render(template, {"fails": fails, "int": int})


def test_errors_other_than_mistakes_are_raised_unchanged(tmp_path):
    for error in (NotMeasured, LadderError("A sentence."), OSError("full")):
        with (
            pytest.raises(error if isinstance(error, type) else type(error)),
            chapter_code.explain_mistakes("It", tmp_path / "a.py"),
        ):
            raise error
