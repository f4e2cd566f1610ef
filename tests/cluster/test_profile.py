"""`snakemake --profile cluster`: where jobs run, and what faults cost, by Slurm's own log of jobs. Nothing hangs."""

import json
import os
import re
import signal
import subprocess
from collections import Counter

import pytest

from cluster import slurm as virtual
from cluster.conftest import NODES
from conftest import ROOT
from ladder.records import record

pytestmark = pytest.mark.cluster
# The states of jobs are queried more often than a large Slurm should be.
ON_CLUSTER = ("--profile", "cluster", "--slurm-init-seconds-before-status-checks", "1")
ON_RANKS = {**NODES, "count": 2, "launcher": "srun --mpi=pmi2"}
ON_GPUS = {**NODES, "partition": "gpu", "machine": "cluster-gpu", "gpus": 1}
SIZES = {"form": "nn", "m": 17, "n": 5, "k": 3}


def records(folder):
    """{job's number: record}; there is one job for each, and the records are whole."""
    found = [record.read(path) for path in sorted((folder / "results/records").rglob("*.json"))]
    by_job = {int(one["slurm"]["SLURM_JOB_ID"]): one for one in found}
    assert len(by_job) == len(found)
    return by_job


def cases(folder):
    return {f"{one['workload']}/{one['variant']}/{one['case']}" for one in records(folder).values()}


def nodes_of(one):
    """The nodes on which the ranks of a record ran."""
    return [
        {rank["node"] for rank in process["threads"].get("ranks", [process["threads"]])} for process in one["processes"]
    ]


def are_apart(process):
    """Whether ranks on one node have cores of their own."""
    cores = [(rank["node"], core) for rank in process["threads"].get("ranks", []) for core in rank["affinity"]]
    return len(cores) == len(set(cores))


def job_of(words):
    """The number of the running job for a case whose path has these words, by the comment that Snakemake gives it."""
    lines = virtual.output("squeue", "--noheader", "--states=RUNNING", "--format=%i|%k").splitlines()
    return next((int(line.split("|")[0]) for line in lines if words in line), None)


def waits(study, *seconds):
    """Add cases of a product that waits, at most until `let_go`, and of one that doesn't."""
    study.add("quick", {"blas": {"threads": 1}})
    return study.add("slow", {"waiting": {"seconds": list(seconds), "threads": 1}}, sizes=SIZES)


def let_go(study):
    """End the waiting of all cases."""
    (study.folder / "go").touch()


class Run:
    """A Snakemake in the background, on its way to the table of all samples."""

    def __init__(self, study):
        line, environment = study.command("results/table.csv", *ON_CLUSTER)
        self.log = study.folder / "run.log"
        self.process = subprocess.Popen(
            line, cwd=study.folder, env=environment, stdout=self.log.open("w"), stderr=subprocess.STDOUT
        )

    def job(self, words):
        """Wait for the job of a case to run; returns its number."""
        return virtual.wait(lambda: job_of(words), f"A job for {words} to run", 180)

    def jobs(self, actions):
        """Do to each job what `actions`, {words: function of its number}, has for it once it runs; their numbers.

        In the order in which they run: on a busy machine one may have ended before another begins.
        """
        found = {}

        def act():
            for words in actions.keys() - found.keys():
                if number := job_of(words):
                    found[words] = number
                    actions[words](number)
            return len(found) == len(actions)

        virtual.wait(act, f"A job for each of {', '.join(actions)} to run", 180)
        return [found[words] for words in actions]

    def end(self):
        """Wait for the end; what was said, and the status."""
        self.process.wait(timeout=600)
        return self.log.read_text(), self.process.returncode


def missing(said):
    """The waiting cases that the summary of a run names, whomever the last line of their logs names."""
    return set(re.findall(r"^  \S+(seconds=\d+)", said.rpartition("ladder: Of ")[2], re.MULTILINE))


def one_case_of_each_kind(study):
    """Add what measurements may need: cores, ranks on two nodes, compiled code, data, a reference and ceilings."""
    study.add("products", {"blas": {"threads": 1}, "openmp": {"threads": 2}}, sizes=SIZES)
    study.add("ranks", {"mpi": {"ranks": 2, "mode": "ship"}}, sizes={"n": 65, "m": 33}, workload="gemv")
    training = {"layers": "784-7-10", "images": 65, "batch": 30, "epochs": 1, "rate": 0.5, "source": "digits"}
    study.add("training", {"host": {"product": "blas", "threads": 1}}, sizes=training, workload="mlp")
    sizes = {"kernel": "read", "elements": 65536}
    return study.add("ceiling_read", {"openmp": {"threads": 1}}, sizes=sizes, workload="stream")


def test_a_study_ends_in_the_paper_and_every_measurement_ran_where_it_should(slurm, described, project):
    described(mpi=ON_RANKS)
    before = {job.id for job in slurm.jobs()}
    out, status = one_case_of_each_kind(project).snakemake(*ON_CLUSTER)
    assert status == 0, out[-3000:]
    assert (project.folder / "results/paper.pdf").stat().st_size > 50_000
    jobs = {job.id: job for job in slurm.jobs() if job.id not in before}
    found = records(project.folder)
    assert Counter(one["workload"] for one in found.values()) == {"gemm": 2, "gemv": 1, "mlp": 1, "stream": 1}
    ranks = Counter()
    for number, one in found.items():
        job = jobs[number]
        assert (job.state, job.partition) == ("COMPLETED", "cpu")
        assert all(nodes == set(job.nodes) for nodes in nodes_of(one)), one["case"]
        ranks[len(job.nodes)] += 1
        assert all(map(are_apart, one["processes"])), one["case"]
    assert ranks == {1: 4, 2: 1}
    told = json.loads((project.folder / "results/machines/cluster-cpu.json").read_text())
    assert told["cores"] == NODES["cores"]
    # One more job describes a node, and there are no others.
    assert len(set(jobs) - set(found)) == 1
    out, _ = project.snakemake("-n", *ON_CLUSTER)
    assert "Nothing to be done" in out


def test_a_case_for_a_gpu_gets_a_node_and_a_gpu_of_its_own(slurm, described, project, tmp_path):
    """There is no GPU: a stand-in logs who asked for it, and CUDA then finds none, which ends the job."""
    stand_ins = f"{ROOT}/tests/fake_cupy{os.pathsep}{ROOT}/tests/stand_in_nvml"
    variables = f"LADDER_FAKE_GPUS=1 LADDER_FAKE_GPUS_ASKED={tmp_path}/asked LADDER_FAULT=device"
    variables += f" PYTHONPATH={stand_ins}:$PYTHONPATH"
    described(gpu={**ON_GPUS, "share": True, "prelude": f"export {variables}"})
    project.add("both", {"blas": {"threads": 1}, "cublas": {"math": "default"}})
    line, environment = project.command("results/table.csv", *ON_CLUSTER)
    environment["PYTHONPATH"] += f"{os.pathsep}{stand_ins}"
    done = subprocess.run(line, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert said.count("There is no GPU to work on: ") >= 2, said[-3000:]
    assert {case.split("/")[1] for case in cases(project.folder)} == {"blas"}

    asked = {tuple(words.split(" ")) for words in (tmp_path / "asked").read_text().splitlines()}
    on_gpus = [job for job in slurm.jobs() if job.partition == "gpu" and str(job.id) in {one[1] for one in asked}]
    assert len(on_gpus) == 2
    for job in on_gpus:
        assert (job.state, len(job.nodes)) == ("FAILED", 1)
        # The first of the node, by Slurm; then the worker sees the one that was leased.
        (node,) = job.nodes
        seen = {(where, gpu) for where, number, gpu in asked if number == str(job.id)}
        assert seen == {(node, "0"), (node, f"GPU-{node}")}


def test_ranks_have_a_gpu_each_on_as_many_nodes_as_it_takes(slurm, described, project):
    """On stand-ins, whose products are those of NumPy."""
    stand_ins = f"{ROOT}/tests/fake_cupy{os.pathsep}{ROOT}/tests/stand_in_nvml"
    gpu = {**ON_GPUS, "count": 2, "launcher": "srun --mpi=pmi2"}
    described(gpu=gpu, prelude=f"export LADDER_FAKE_GPUS=1 PYTHONPATH={stand_ins}:$PYTHONPATH")
    tuning = {"ranks": [1, 2, 3], "mode": "ship"}
    project.add("products", {"mpi_cublas": tuning, "nccl_cublas": tuning}, sizes={"n": 65, "m": 33}, workload="gemv")
    line, environment = project.command("results/table.csv", *ON_CLUSTER)
    environment["PYTHONPATH"] += f"{os.pathsep}{stand_ins}"
    done = subprocess.run(line, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    assert "needs 3 GPUs, 2 available" in said
    jobs = {job.id: job for job in slurm.jobs()}
    found = records(project.folder)
    assert Counter(len(jobs[number].nodes) for number in found) == {1: 2, 2: 2}
    for number, one in found.items():
        job = jobs[number]
        assert (job.state, job.partition) == ("COMPLETED", "gpu")
        assert all(nodes == set(job.nodes) for nodes in nodes_of(one)), one["case"]
        for process in one["processes"]:
            assert len({rank["gpu"]["uuid"] for rank in process["threads"]["ranks"]}) == len(job.nodes)


def test_jobs_that_are_ended_cost_their_cases_alone(slurm, described, project):
    described()
    run = Run(waits(project, 0, 60, 61))
    cancelled, late = run.jobs(
        {
            "seconds=60": lambda number: virtual.output("scancel", number),
            "seconds=61": lambda number: virtual.output("scontrol", "update", f"JobId={number}", "EndTime=now+1"),
        }
    )
    said, status = run.end()
    assert (slurm.ended(cancelled).state, slurm.ended(late).state) == ("CANCELLED", "TIMEOUT")
    assert status == 1
    assert len(cases(project.folder)) == 3
    assert missing(said) == {"seconds=60", "seconds=61"}


def test_a_node_that_fails_costs_nothing(slurm, described, project):
    described()
    run = Run(waits(project, 0, 600))
    run.job("seconds=600")
    node = virtual.output("squeue", "--noheader", "--states=RUNNING", "--format=%N|%k")
    node = next(line.split("|")[0] for line in node.splitlines() if "seconds=600" in line)
    slurm.down(node)
    let_go(project)
    try:
        said, status = run.end()
    finally:
        slurm.up(node)
    assert status == 0, said[-3000:]
    assert len(cases(project.folder)) == 4
    assert {node} not in nodes_of(next(one for one in records(project.folder).values() if "seconds=600" in one["case"]))


def test_a_killed_run_is_continued_and_no_case_is_measured_by_two(slurm, described, project):
    described()
    run = Run(waits(project, 0, 600))
    number = run.job("seconds=600")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    before = cases(project.folder)
    run = Run(project)
    assert slurm.ended(number).state == "CANCELLED"
    let_go(project)
    said, status = run.end()
    assert status == 0, said[-3000:]
    assert str(number) in said.split("cancelled the Slurm jobs of an earlier run: ")[1].splitlines()[0]
    assert len(before) < 4
    assert len(cases(project.folder)) == 4
    rows = (project.folder / "results/table.csv").read_text()
    for one in records(project.folder).values():
        samples = sum(len(process["samples"]) for process in one["processes"])
        assert rows.count(f'"{one["case"]}"') == samples


def test_what_slurm_refuses_is_said_before_anything_is_submitted(slurm, described, project):
    described(cpu={**NODES, "memory": 9000})
    before = len(slurm.jobs())
    out, status = waits(project, 0).snakemake(*ON_CLUSTER)
    assert status == 1
    assert "Change `memory: 9000` there" in out
    assert "Traceback" not in out
    assert len(slurm.jobs()) == before
