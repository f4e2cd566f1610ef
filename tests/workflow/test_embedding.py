"""The workflow as a module of a user's workflow: rules beside it, published data, and refusals where it can't work."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from conftest import ROOT
from ladder.planning import configuration
from ladder.workflow import embedding
from small_plans import snakemake_workflow

# A user's workflow, which has the project's as a module.
SNAKEFILE = """
configfile: "mine.yaml"


module ladder:
    snakefile: {path!r}
    config: config["study"]


use rule * from ladder as ladder_*


onstart:
    ladder.onstart()


onsuccess:
    ladder.onsuccess()


rule rows:
    default_target: True
    input:
        "results/tables/{experiment}/samples.csv",
    output:
        "rows.txt",
    shell:
        "wc -l < {{input}} > {{output}}"
"""


def embed(folder, project, study, experiment):
    """Write a user's own workflow into a folder, with its rule `rows` on a table of the study."""
    folder.mkdir(exist_ok=True)
    text = SNAKEFILE.format(path=str(Path(project, "workflow/Snakefile")), experiment=experiment)
    (folder / "Snakefile").write_text(text, encoding="utf-8")
    (folder / "mine.yaml").write_text(yaml.safe_dump({"study": study, "mine": 3}), encoding="utf-8")


def snakemake(folder, project, *options):
    """Run Snakemake in a folder by a project's code; returns its output and its exit status."""
    path = os.pathsep.join([f"{project}/src", os.environ.get("PYTHONPATH", "")])
    line = [sys.executable, "-m", "snakemake", "--cores", "2", *options]
    environment = os.environ | {"PYTHONPATH": path}
    result = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    return result.stdout + result.stderr, result.returncode


def test_the_documents_commands_are_those_that_the_tests_run():
    """Without `--cores` Snakemake refuses to start, since a module has no profile of its own."""
    text = (ROOT / "docs/how-to/module.md").read_text(encoding="utf-8")
    commands = [
        line.split()[1:] for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()
    ]
    profile = ["--workflow-profile", "/path/of/the/clone/profiles/default"]
    assert commands == [["--cores", "2", *options] for options in (["--dry-run"], [], profile)]


@pytest.mark.workflow
@pytest.mark.slow
def test_a_users_rule_reads_a_table_of_published_measurements(tmp_path):
    study = {"measure": False, "machine": "mine", "published": ["amd-epyc-2c"], "only": ["gemm_square"]}
    embed(tmp_path / "mine", ROOT, study, "gemm_square")
    out, status = snakemake(tmp_path / "mine", ROOT, "--dry-run", "rows", "ladder_site")
    assert status == 0, out
    assert "localrules directive" not in out
    assert {"rows", "ladder_collect_others", "ladder_site"} <= {line.split()[0] for line in out.splitlines() if line}
    out, status = snakemake(tmp_path / "mine", ROOT)
    assert status == 0, out
    with (tmp_path / "mine/results/tables/gemm_square/samples.csv").open(encoding="utf-8") as file:
        machines = [row["machine"] for row in csv.DictReader(file)]
    assert set(machines) == {"amd-epyc-2c (published)"}
    assert int((tmp_path / "mine/rows.txt").read_text()) == len(machines) + 1


@pytest.mark.workflow
@pytest.mark.slow
def test_a_module_measures_and_its_handlers_say_what(study, tmp_path):
    study.add("quick", {"blas": {"threads": 1}})
    study.config["variant_folders"] = []
    embed(tmp_path / "mine", study.folder, study.config, "quick")
    out, status = snakemake(
        tmp_path / "mine", study.folder, "--workflow-profile", str(study.folder / "profiles/default")
    )
    assert status == 0, out
    assert "Of 2 cases, 2 were measured now and 0 before" in out
    assert len(list((tmp_path / "mine/results/records/here/gemm/blas").iterdir())) == 2
    out, status = snakemake(tmp_path / "mine", study.folder, "--dry-run")
    assert "Nothing to be done" in out


@pytest.mark.workflow
def test_without_the_package_snakemake_ends_with_a_sentence(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\n\nsys.modules['ladder'] = None\n", encoding="utf-8")
    line = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "workflow/Snakefile", "--dry-run"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    result = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode
    assert result.stderr.splitlines()[-1].startswith(
        f"ladder: {sys.executable}, which runs Snakemake, lacks the package"
    )
    assert "Traceback" not in result.stderr


def modifier(change, is_main=False):
    """A stand-in for Snakemake's modifier of a module, which changes paths."""
    return SimpleNamespace(modify_path=change, is_main_snakefile=lambda: is_main)


@pytest.mark.parametrize(
    "change", [lambda path: f"x/{path}", lambda path: path.replace("results/figures", "pictures")], ids=["all", "one"]
)
def test_a_module_with_a_prefix_is_refused(change):
    embedding.require_usable(snakemake_workflow(modifier=modifier(str)), ROOT)
    with pytest.raises(SystemExit, match=r"^ladder: The module's prefix changes results/\S+ to \S+ in rules, but not"):
        embedding.require_usable(snakemake_workflow(modifier=modifier(change)), ROOT)


def test_a_snakefile_without_its_project_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"has no folder `paper`, .*: clone the whole repository"):
        embedding.require_usable(snakemake_workflow(modifier=modifier(str)), tmp_path)


def test_a_modules_configuration_overrides_the_projects_and_no_command_line_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {"machine": "mine", "experiments": {"gemm_square": None}}
    settings = SimpleNamespace(config_args=["machine=other", "color=red"])
    workflow = snakemake_workflow(modifier=modifier(str), config_settings=settings, configfiles=["not-ours.yaml"])
    merged = embedding.merged_config(config, workflow, ROOT)
    shipped = configuration.read(ROOT / "config/config.yaml")
    assert merged == shipped | {"machine": "mine", "experiments": shipped["experiments"] | {"gemm_square": None}}
    assert config == {"machine": "mine", "experiments": {"gemm_square": None}}


def test_a_modules_configuration_is_a_mapping():
    with pytest.raises(SystemExit, match=r"^ladder: The module's config is \['measure'\]: give it a mapping of keys"):
        embedding.merged_config(["measure"], snakemake_workflow(modifier=modifier(str)), ROOT)


def test_the_command_line_overrides_the_configuration_and_stays_in_snakemakes():
    config = {"experiments": {}, "machine": "here"}
    settings = SimpleNamespace(config_args=["machine=0815", "measure=false"])
    merged = embedding.merged_config(config, snakemake_workflow(config_settings=settings), ROOT)
    assert merged == config == {"experiments": {}, "machine": "0815", "measure": False}


def test_only_the_main_process_checks_the_configuration_files():
    workflow = snakemake_workflow(configfiles=["nowhere.yaml"])
    with pytest.raises(SystemExit, match=r"^ladder: The configuration nowhere.yaml can't be read"):
        embedding.merged_config({}, workflow, ROOT)
    workflow.is_main_process = False
    assert embedding.merged_config({}, workflow, ROOT) == {}
