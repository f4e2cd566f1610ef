"""Slurm that can't be reached, and jobs that a killed run has left: a run cancels those of its folder and no others."""

from subprocess import CompletedProcess

import pytest

from ladder.errors import LadderError
from ladder.planning import cluster_description, slurm


@pytest.fixture
def queue(monkeypatch, tmp_path):
    """A function that sets the lines of squeue, from jobs (id, comment, folder).

    The working directory is `study`, and `link` is a link to it.
    """
    (tmp_path / "study").mkdir()
    (tmp_path / "link").symlink_to("study")
    monkeypatch.chdir(tmp_path / "study")

    def set_jobs(*jobs):
        lines = "".join(f"{number}|{comment}|{folder}\n" for number, comment, folder in jobs)
        monkeypatch.setattr(slurm, "output_of", lambda *command: lines)

    return set_jobs


@pytest.mark.parametrize(
    ("comment", "folder", "is_ours"),
    [
        ("rule_measure_wildcards_a", "study", True),
        ("rule_measure", "link", True),
        ("rule_measure", "study/", True),
        ("rule_a|b", "study", True),
        ("rule_measure", "study-2", False),
        ("rule_measure", "stud", False),
        ("rule_measure", "study/inner", False),
        ("rule_measure", "", False),
        ("rule_measure", "other", False),
        ("(null)", "study", False),
        ("my rule_measure", "study", False),
        ("a|rule_measure", "study", False),
        ("rule_measure", "study|inner", False),
    ],
)
def test_only_measurements_of_this_folder_are_stray_jobs(queue, tmp_path, comment, folder, is_ours):
    queue(("1", "rule_measure", tmp_path), ("2", comment, f"{tmp_path}/{folder}"))
    assert slurm.stray_jobs() == (["2"] if is_ours else [])


def test_links_to_this_folder_are_resolved(queue, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "link")
    queue(("1", "rule_measure", tmp_path / "study"), ("2", "rule_measure", tmp_path / "link"))
    assert slurm.stray_jobs() == ["1", "2"]


def test_only_jobs_of_this_folder_are_cancelled(queue, tmp_path, monkeypatch):
    jobs = {"1": "study", "2": "study-2", "3": "link", "4": "study"}
    clock = iter(range(1000))
    monkeypatch.setattr(slurm.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(slurm.time, "sleep", lambda seconds: jobs.pop("4", None))  # this one ends by itself

    def query(program, *arguments):
        if program == "scancel":
            for number in set(arguments) - {"--quiet"}:
                del jobs[number]
        return "".join(f"{number}|rule_measure|{tmp_path}/{folder}\n" for number, folder in jobs.items())

    monkeypatch.setattr(slurm, "output_of", query)
    assert slurm.cancel_stray_jobs() == ["1", "3"]
    assert jobs == {"2": "study-2"}


@pytest.mark.parametrize(
    ("message", "start"),
    [
        (
            "sbatch: error: fetch_config: lookup failed\nsbatch: fatal: Could not establish a configuration source",
            "Slurm can't be reached from here: fetch_config",
        ),
        (
            "allocation failure: Unable to contact slurm controller (connect failure)",
            "Slurm can't be reached from here: Unable",
        ),
        (
            "allocation failure: Invalid qos specification",
            "Slurm refuses jobs for the nodes `cpu` of site.yaml: Invalid qos",
        ),
    ],
)
def test_a_slurm_that_can_not_be_reached_is_told_from_a_refusal(message, start, monkeypatch):
    description = cluster_description.validate(
        {"nodes": {"cpu": {"partition": "cpu", "machine": "lab", "cores": 2, "memory": 1}}}, "site.yaml"
    )
    monkeypatch.setattr(slurm.shutil, "which", lambda name: name)
    monkeypatch.setattr(slurm, "run", lambda *command: CompletedProcess(command, 1, "", message))
    with pytest.raises(LadderError) as error:
        slurm.require_accepted(description, "site.yaml", ["cpu"])
    assert str(error.value).startswith(start)
