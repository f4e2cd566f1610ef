"""Snakemake's option `--sdm`: jobs run in the container that the configuration names, or a sentence ends the run."""

import os
from types import SimpleNamespace

import pytest

from ladder.errors import LadderError
from ladder.workflow import deployment
from small_plans import snakemake_workflow

# A stand-in for apptainer: it appends the image, which precedes the command, and the folders to mount to `calls`, and
# runs the command, which begins with bash, on this machine; the programs in the folder IMAGE_PROGRAMS come first.
RUNTIME = """#!/bin/bash
if [ "$1" = --version ]; then echo "apptainer version 1.3.0"; exit; fi
while [ "$1" != bash ]; do args+=("$1"); shift; done
echo "${args[-1]} $APPTAINER_BIND" >> calls
PATH="$IMAGE_PROGRAMS:$PATH" exec "$@"
"""


def workflow_with_methods(*names, **changes):
    """Snakemake's workflow under `--sdm` with these methods."""
    return snakemake_workflow(deployment_settings=SimpleNamespace(deployment_method=set(names)), **changes)


@pytest.fixture
def container_runtime(tmp_path, monkeypatch):
    """The stand-in for apptainer, first on the PATH; the working directory has an image, `x.sif`."""
    program = tmp_path / "bin/apptainer"
    program.parent.mkdir()
    program.write_text(RUNTIME, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.sif").touch()


@pytest.mark.parametrize(
    ("methods", "image", "sentence"),
    [
        (["apptainer"], None, "`--sdm apptainer` requires an image: build one from workflow/envs/Containerfile"),
        (["apptainer"], "y.sif", "The image y.sif, which the key `container` names, doesn't exist"),
        (["conda", "apptainer"], "x.sif", "`--sdm conda apptainer` can't be used"),
        (["env-modules"], None, "`--sdm env-modules` can't be used, .* by the key `prelude`"),
    ],
)
def test_methods_under_which_jobs_would_lack_packages_are_refused(container_runtime, methods, image, sentence):
    with pytest.raises(LadderError, match=f"^{sentence}"):
        deployment.require_usable(workflow_with_methods(*methods), {"container": image})


def test_without_a_runtime_the_run_ends_with_a_sentence_but_jobs_do_not_look_for_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LadderError, match="requires the program apptainer or singularity, and neither is installed"):
        deployment.require_usable(workflow_with_methods("apptainer"), {"container": "x.sif"})
    deployment.require_usable(workflow_with_methods("apptainer", is_main_process=False), {"container": "x.sif"})


@pytest.mark.parametrize("methods", [(), ("conda",)])
def test_without_apptainer_the_image_is_not_used(methods):
    deployment.require_usable(workflow_with_methods(*methods), {"container": "nowhere.sif"})
    assert deployment.image(workflow_with_methods(*methods), {"container": "nowhere.sif"}) is None


@pytest.mark.parametrize("image", ["x.sif", "docker://registry.example.org/ladder:0.1.0"])
def test_a_file_and_an_address_are_images(container_runtime, image):
    deployment.require_usable(workflow_with_methods("apptainer"), {"container": image})
    assert deployment.image(workflow_with_methods("apptainer"), {"container": image}) == image


@pytest.mark.workflow
@pytest.mark.slow
def test_jobs_run_in_the_container_with_the_code_of_the_project(container_runtime, study, monkeypatch):
    study.add("quick", {"blas": {"threads": 1}})
    study.config["container"] = "x.sif"
    (study.folder / "x.sif").touch()
    monkeypatch.setenv("IMAGE_PROGRAMS", str(study.folder / ".venv/bin"))
    monkeypatch.setenv("APPTAINER_BIND", "/mine")
    out, status = study.snakemake("results/table.csv", "--sdm", "apptainer")
    assert status == 0, out
    assert len(study.records()) == 2
    calls = set((study.folder / "calls").read_text().splitlines())
    assert calls == {f"x.sif /mine,{study.folder},{study.folder / 'tests/variants'}"}
