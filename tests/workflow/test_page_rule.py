"""What the rule of the page of results reads: pictures of artefacts, links to the documents, and templates."""

from types import SimpleNamespace

import pytest

from ladder.errors import LadderError
from ladder.site import templates
from ladder.verbs import site
from ladder.workflow import page


def test_pictures_are_the_figures_of_artefacts():
    constants = {"a_curve": {"USES_ARTEFACTS": ()}, "a_picture": {"USES_ARTEFACTS": ("pictures.png",)}}
    inputs = page.Page(SimpleNamespace(names=[*constants], constants=constants))
    assert inputs.pictures == ["results/figures/a_picture.png"]
    options = ["--picture=a_picture=results/figures/a_picture.png", "--document=paper=paper.pdf"]
    assert inputs.options == [*options, "--document=supplement=supplement.pdf"]


def test_a_change_of_a_template_rebuilds_the_page(tmp_path, monkeypatch):
    before = page.fingerprint()
    for path in templates.FOLDER.iterdir():
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(templates, "FOLDER", tmp_path)
    assert page.fingerprint() == before
    (tmp_path / "style.css").write_text("body { color: red }", encoding="utf-8")
    assert page.fingerprint() != before


def test_an_option_without_a_value_is_refused():
    assert site.name_and_value("paper=a=b.pdf") == ("paper", "a=b.pdf")
    with pytest.raises(LadderError, match="'paper' must be name=value"):
        site.name_and_value("paper")
