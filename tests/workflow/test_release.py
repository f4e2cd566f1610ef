"""What a release and the Snakemake workflow catalog require: one version everywhere, and the catalog's layout."""

import json
import re
import tomllib

import yaml

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
HEADINGS = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_changelog_begins_with_what_is_unreleased_and_its_newest_release_is_the_projects_version():
    assert HEADINGS[0] == ("Unreleased", "")
    assert HEADINGS[1] == (PROJECT["version"], str(CITATION["date-released"]))
    dates = [date for _, date in HEADINGS[1:]]
    assert dates == sorted(dates, reverse=True)


def test_all_files_have_the_version_and_the_licence_of_the_project():
    assert CITATION["version"] == ZENODO["version"] == PROJECT["version"]
    assert CITATION["license"] == ZENODO["license"] == PROJECT["license"]
    assert CITATION["title"] == ZENODO["title"]
    assert ZENODO["creators"] == CITATION["authors"]


def test_the_workflow_has_the_layout_of_the_catalog():
    """Its conditions for a workflow of standardised usage."""
    for name in ("workflow/Snakefile", "config/README.md", "README.md"):
        assert (ROOT / name).is_file()
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    assert list((ROOT / "workflow/rules").glob("*.smk"))
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    # The catalog would print a command without the image that `--sdm apptainer` requires.
    assert usage["software-stack-deployment"] == {"conda": True, "apptainer": False, "apptainer+conda": False}
    assert usage["report"] is True


def test_no_text_advises_to_install_another_project_of_the_same_name():
    """On PyPI, `ladder` is another project."""
    folders = [ROOT / name for name in ("src", "workflow", "docs", "config", "cluster", "profiles", ".github")]
    paths = [
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".py", ".md", ".yaml", ".sh", ".smk")
    ]
    paths += [*ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "workflow/Snakefile"]
    assert len(paths) > 200
    advice = re.compile(r"\b(?:pip|uv|pipx|conda) (?:install|add|run) [^\n`]*?(?<![\w./-])ladder(?![\w/.-])")
    assert advice.search("`pip install --upgrade ladder[gpu]` installs it")
    assert not advice.search("`pip install ladder-study`, or pip install ./ladder")
    assert not [path for path in paths if advice.search(path.read_text(encoding="utf-8"))]
