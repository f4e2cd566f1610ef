"""A cluster without Slurm, by Snakemake's executor for any submit command: nothing asks for `sbatch`."""

import os
import re

import pytest

pytest.importorskip("snakemake_executor_plugin_cluster_generic", reason="requires Snakemake's plugin cluster-generic")
pytestmark = pytest.mark.workflow
# The submit command: it runs a job's script in the background and prints its process id as the job's.
SUBMIT = '#!/bin/sh\nnohup sh "$1" > "{folder}/job-$$.log" 2>&1 &\necho $$\n'
SIZES = {"form": "nn", "m": 17, "n": 5, "k": 9}
RESOURCES = ("--default-resources", "on_cluster=1", "mem_mb=1000", "disk_mb=1000")


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """A submit command that starts a job on this machine, and a PATH on which Slurm's commands leave a note."""
    for name in ("sbatch", "squeue", "sacct", "scancel", "sinfo"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/slurm-calls\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    command = tmp_path / "submit"
    command.write_text(SUBMIT.format(folder=tmp_path))
    command.chmod(0o755)
    return command


def generic_profile(command):
    """The options of Snakemake that submit jobs by a command."""
    options = "--executor", "cluster-generic", "--cluster-generic-submit-cmd", str(command), "--jobs", "4"
    return *options, "--seconds-between-status-checks", "1"


@pytest.mark.slow
def test_jobs_of_any_executor_are_measured_and_slurm_is_not_called(submit, describe_cluster, project, tmp_path):
    describe_cluster(prelude='echo "$LADDER_NODES nodes" >&2')
    project.add("products", {"blas": {"threads": 1}, "openmp": {"threads": 2}}, sizes=SIZES)
    out, status = project.snakemake("results/table.csv", *generic_profile(submit), *RESOURCES)
    assert status == 0, out[-3000:]
    folder = project.folder / "results/records/cluster-cpu/gemm"
    assert {path.parent.name for path in folder.rglob("*.json")} == {"blas", "openmp"}
    # The two measurements alone were submitted.
    assert len(list(tmp_path.glob("job-*.log"))) == 2
    assert not (tmp_path / "slurm-calls").exists()


@pytest.mark.slow
def test_no_job_that_may_be_submitted_has_a_comma_in_its_wildcards(submit, describe_cluster, project):
    """Snakemake splits the wildcards on a job's command line at commas."""
    describe_cluster()
    project.add("products", {"blas": {"threads": 1}, "openmp": {"threads": 2}}, sizes=SIZES)
    out, status = project.snakemake("-n", "results/table.csv", *generic_profile(submit), *RESOURCES)
    assert status == 0, out[-3000:]
    jobs = dict(re.findall(r"^(?:local)?rule (\w+):.*?\n    wildcards: (.*?)\n", out, re.MULTILINE | re.DOTALL))
    assert {"measure", "precompile", "stamp"} <= jobs.keys()
    for rule in ("measure", "precompile", "stamp"):
        assert all("=" in part for part in jobs[rule].split(", ")), jobs[rule]
        assert "," not in jobs[rule].replace(", ", " "), jobs[rule]


@pytest.mark.slow
def test_cases_of_this_machine_are_not_submitted(submit, project, tmp_path):
    project.add("products", {"blas": {"threads": 1}}, sizes=SIZES)
    out, status = project.snakemake("results/table.csv", *generic_profile(submit))
    assert status == 1
    assert "These cases are for this machine: for a cluster, add `on_cluster=1`" in out
    assert not list(tmp_path.glob("job-*.log"))


def test_an_executor_of_its_own_scheduler_plans_the_same_jobs(describe_cluster, project):
    pytest.importorskip("snakemake_executor_plugin_lsf", reason="requires Snakemake's plugin for LSF")
    describe_cluster()
    project.add("products", {"blas": {"threads": 1}}, sizes=SIZES)
    out, status = project.snakemake("-n", "results/table.csv", "--executor", "lsf", "--jobs", "4", *RESOURCES)
    assert status == 0, out[-3000:]
    assert "ladder: 1 job for the cluster" in out
