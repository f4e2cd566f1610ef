"""The resources, the command lines and the variables of jobs, on this machine and on a cluster."""

import os
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest

from ladder.machine import revision
from ladder.workflow.commands import Commands, set_variables
from ladder.workflow.resources import JobResources
from small_plans import CLUSTER, experiment, job_wildcards, read_plan, snakemake_workflow

VARIANTS = {
    "blas": {"threads": 2},
    "mpi_openmp": {"ranks": 3, "mode": "ship", "threads": 2},
    "cublas": {},
    "mpi_cublas": {"ranks": 2, "mode": "ship"},
}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def resources_of(nodes=None, **changes):
    """The JobResources, and the wildcards of a job of every variant."""
    study = read_plan({"one": experiment(VARIANTS, "gemv", {"n": 7, "m": 5})}, nodes, **changes)
    return JobResources(study), {item.case.variant: job_wildcards(item.case) for item in study.cases}


def values(resources, *arguments):
    """The values of resources, {name: value}; those that are functions get the arguments, a job's wildcards."""
    return {name: value(*arguments) if callable(value) else value for name, value in resources.items()}


def test_on_this_machine_a_job_is_timed_alone_or_takes_a_gpu():
    """Of the resource `timing` there is one for all jobs; `card` is the number of GPUs."""
    resources, jobs = resources_of()
    assert values(resources.measuring_resources, jobs["blas"]) == {"mpi": "", "timing": 1, "card": 0}
    assert values(resources.measuring_resources, jobs["cublas"]) == {"mpi": "", "timing": 0, "card": 1}
    assert "mpiexec" in resources.measuring_resources["mpi"](jobs["mpi_openmp"])
    assert [resources.threads(jobs[name]) for name in ("blas", "mpi_openmp", "cublas")] == [2, 2, 1]
    assert resources.granted_cores(jobs["mpi_openmp"], 2) == 2
    assert resources.describing_resources == {}


def test_a_case_that_shares_the_machine_is_timed_beside_others_on_all_cores():
    resources, jobs = resources_of(protocol={"share_machine": True})
    assert values(resources.measuring_resources, jobs["blas"]) == {"mpi": "", "timing": 0, "card": 0}
    assert [resources.threads(jobs[name]) for name in ("blas", "cublas")] == [1, 1]
    assert resources.granted_cores(jobs["blas"], 1) == 2
    assert resources_of(CLUSTER, protocol={"share_machine": True})[0].threads(jobs["blas"]) == 8


def test_on_a_cluster_a_rank_gets_its_cores_and_a_job_its_kind_of_nodes():
    resources, jobs = resources_of(CLUSTER)
    measuring = dict(resources.measuring_resources)
    runtime = measuring.pop("runtime")
    assert [runtime(jobs["blas"], attempt) for attempt in (1, 2)] == [30, 60]  # minutes
    on_cores, on_ranks = (values(measuring, jobs[name]) for name in ("blas", "mpi_openmp"))
    assert on_cores.items() >= {"mpi": "", "tasks": 1, "cpus_per_task": 8, "nodes": 1, "gres": ""}.items()
    assert on_ranks.items() >= {"mpi": "srun", "tasks": 3, "cpus_per_task": 2, "nodes": 2, "gres": ""}.items()
    assert on_cores["slurm_partition"] == "p"
    assert values(measuring, jobs["cublas"])["gres"] == "gpu:h100:1"
    assert resources.granted_cores(jobs["mpi_openmp"], 1) == 6
    assert resources.granted_cores(jobs["blas"], 1) == 8
    assert "timing" not in measuring


def test_a_job_that_describes_a_node_gets_all_of_it():
    resources, _ = resources_of(CLUSTER)
    describing = dict(resources.describing_resources)
    assert describing.pop("runtime")(SimpleNamespace(machine="lab-gpu"), 1) == 30
    job = values(describing, SimpleNamespace(machine="lab-gpu"))
    assert (job["cpus_per_task"], job["gres"], job["nodes"], job["mpi"]) == (8, "gpu:h100:4", 1, "")
    assert values(describing, SimpleNamespace(machine="lab"))["gres"] == ""


def test_a_verb_replaces_its_shell_and_is_found_in_a_folder_with_a_blank():
    commands = Commands(is_on_cluster=False, is_deployed=False)
    assert commands.ladder("list") == 'exec  "$LADDER_PYTHON" -m ladder list '
    assert commands.on_node("list") == commands.ladder("list")
    assert Commands(is_on_cluster=True, is_deployed=False).ladder("list") == commands.ladder("list")
    line = commands.module("this.that --flag")
    assert shlex.split(line) == ["exec", "$LADDER_PYTHON", "-m", "this.that", "--flag"]


def test_in_an_environment_of_snakemakes_the_code_is_found_by_a_variable():
    line = Commands(is_on_cluster=False, is_deployed=True).ladder("list")
    assert line == 'exec  env PYTHONPATH="$LADDER_CODE" python -m ladder list '


def test_on_a_node_only_the_prelude_sets_variables_of_runtimes(monkeypatch):
    study, line = read_plan({}, CLUSTER), Commands(is_on_cluster=True, is_deployed=False).on_node("list")
    study.site["prelude"], study.site["wrapper"] = "export OMP_PROC_BIND=true; true $UNSET_BY_NOBODY", "echo"
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    set_variables(study, snakemake_workflow(is_main_process=False))
    line = line.format(resources=SimpleNamespace(cpus_per_task=4, nodes=2, kind="cpu"))
    line = line.replace("exec", "env | sort; exec")
    process = subprocess.run(["bash", "-euc", line], capture_output=True, text=True, check=True)
    lines = process.stdout.splitlines()
    assert {"OMP_PROC_BIND=true", "LADDER_NODES=2", "SRUN_CPUS_PER_TASK=4", "SLURM_CPU_BIND=cores"} <= set(lines)
    assert not [line for line in lines if line.startswith("OMP_NUM_THREADS")]
    assert lines[-1] == f"{sys.executable} -m ladder list"


def test_each_kind_of_nodes_has_a_prelude_and_a_wrapper_of_its_own():
    gpu = CLUSTER["gpu"] | {"prelude": "echo of gpu", "wrapper": "echo inside"}
    study, line = read_plan({}, CLUSTER | {"gpu": gpu}), Commands(is_on_cluster=True, is_deployed=False).on_node("list")
    study.site["prelude"], study.site["wrapper"] = "echo of all", "echo outside"
    set_variables(study, snakemake_workflow(is_main_process=False))
    printed = {}
    for kind in ("cpu", "gpu"):
        words = line.format(resources=SimpleNamespace(cpus_per_task=4, nodes=2, kind=kind))
        process = subprocess.run(["bash", "-euc", words], capture_output=True, text=True, check=True)
        printed[kind] = process.stdout.splitlines()
    end = f"{sys.executable} -m ladder list"
    assert printed == {"cpu": ["of all", f"outside {end}"], "gpu": ["of all", "of gpu", f"inside {end}"]}


def test_a_case_on_one_gpu_takes_a_part_of_a_node_that_is_shared():
    gpu = CLUSTER["gpu"] | {"share": True, "options": ["--reservation=us"], "launcher": "srun"}
    resources, jobs = resources_of(CLUSTER | {"gpu": gpu})
    measuring = {name: value for name, value in resources.measuring_resources.items() if name != "runtime"}
    of_gpu, of_node = (values(measuring, jobs[name]) for name in ("cublas", "mpi_cublas"))
    shared = {  # a quarter of a node with four GPUs
        "cpus_per_task": 2,
        "mem_mb": 250,
        "slurm_extra": "--exclusive=user --reservation=us",
        "gres": "gpu:h100:1",
    }
    assert of_gpu.items() >= shared.items()
    assert (of_node["mem_mb"], of_node["slurm_extra"]) == (1000, "--exclusive --reservation=us")
    assert resources.granted_cores(jobs["cublas"], 1) == 2


def test_resources_for_other_executors_are_those_of_the_kind_of_nodes():
    resources, jobs = resources_of(CLUSTER | {"gpu": CLUSTER["gpu"] | {"resources": {"lsf_queue": "gpus"}}})
    queue = resources.measuring_resources["lsf_queue"]
    assert (queue(jobs["cublas"]), queue(jobs["blas"])) == ("gpus", None)


def test_jobs_inherit_what_they_need_and_nothing_that_bash_reads(monkeypatch):
    monkeypatch.setenv("SHELLOPTS_OF_MINE", "kept")
    for name in ("BASH_ENV", "BASHOPTS", "CDPATH"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setattr(revision, "for_jobs", lambda: ({"commit": "c", "dirty": True}, {"LADDER_UNCHANGED": "c 0"}))
    set_variables(read_plan({}), snakemake_workflow())
    assert not {"BASH_ENV", "BASHOPTS", "CDPATH", "LADDER_PRELUDE_cpu", "LADDER_UNSET"} & set(os.environ)
    expected = {"LADDER_PYTHON": sys.executable, "LADDER_CODE": "/project/src", "LADDER_PARENT": str(os.getpid())}
    expected |= {"PYTHONSAFEPATH": "1", "OPENBLAS_NUM_THREADS": "1"}
    assert os.environ.items() >= (expected | {"LADDER_UNCHANGED": "c 0", "SHELLOPTS_OF_MINE": "kept"}).items()


@pytest.mark.parametrize(("nodes", "name"), [(CLUSTER, "LADDER_COMMIT"), (None, "LADDER_UNCHANGED")])
def test_the_revision_is_determined_once_by_the_run_that_measures(monkeypatch, nodes, name):
    monkeypatch.setattr(revision, "for_jobs", lambda: ({"commit": "c", "dirty": True}, {"LADDER_UNCHANGED": "c 0"}))
    set_variables(read_plan({}, nodes, measure=False), snakemake_workflow())
    set_variables(read_plan({}, nodes), snakemake_workflow(is_main_process=False))
    assert name not in os.environ
    set_variables(read_plan({}, nodes), snakemake_workflow())
    assert os.environ[name] == {"LADDER_COMMIT": "c-dirty", "LADDER_UNCHANGED": "c 0"}[name]
