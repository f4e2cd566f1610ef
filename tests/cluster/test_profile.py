"""`snakemake --profile cluster`: where jobs run, and what faults cost, by Slurm's own log of jobs. Nothing hangs."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter

import pytest

from cluster import slurm as virtual
from cluster.conftest import NODES
from conftest import ROOT
from ladder.records import record

pytestmark = pytest.mark.cluster
ON_RANKS = {**NODES, "count": 2, "launcher": "srun --mpi=pmi2"}
ON_GPUS = {**NODES, "partition": "gpu", "machine": "cluster-gpu", "gpus": 1}


def records(folder):
    """{job's number: record}; there is one job for each, and the records are whole."""
    found = [record.read(path) for path in sorted((folder / "results/records").rglob("*.json"))]
    by_job = {int(one["slurm"]["SLURM_JOB_ID"]): one for one in found}
    assert len(by_job) == len(found)
    return by_job


def cases(folder):
    return {f"{one['workload']}/{one['variant']}/{one['case']}" for one in records(folder).values()}


def nodes_of(one):
    """The nodes that the ranks of a record say they ran on."""
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
    """Add cases of a product that waits, and of one that doesn't."""
    study.add("quick", {"blas": {"threads": 1}})
    sizes = {"form": "nn", "m": 17, "n": 5, "k": 3}
    return study.add("slow", {"waiting": {"seconds": list(seconds), "threads": 1}}, sizes=sizes)


class Run:
    """A Snakemake in the background, on its way to the table of all samples."""

    def __init__(self, study):
        line, environment = study.command("results/table.csv", "--profile", "cluster")
        self.log = study.folder / "run.log"
        self.process = subprocess.Popen(
            line, cwd=study.folder, env=environment, stdout=self.log.open("w"), stderr=subprocess.STDOUT
        )

    def job(self, words):
        """Wait for the job of a case to run; its number."""
        return virtual.wait(lambda: job_of(words), f"A job for {words} to run", 180)

    def end(self):
        """Wait for the end; what was said, and the status."""
        self.process.wait(timeout=600)
        return self.log.read_text(), self.process.returncode


def missing(said):
    """The waiting cases that the summary of a run names."""
    return re.findall(r"seconds=\d+", said.split("ladder: Of ")[1].split("results/logs")[0])


def test_the_smoke_study_ends_in_the_paper_and_every_measurement_ran_where_it_should(slurm, described, project):
    described(mpi=ON_RANKS)
    shutil.copytree(ROOT / "results/published", project.folder / "results/published")
    before = {job.id for job in slurm.jobs()}
    line, environment = project.command()
    smoke = [*line[: line.index("--configfile")], "--profile", "cluster", "--configfile", "config/smoke.yaml"]
    done = subprocess.run(smoke, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (project.folder / "results/paper.pdf").stat().st_size > 100_000
    jobs = {job.id: job for job in slurm.jobs() if job.id not in before}
    found = records(project.folder)
    assert {one["workload"] for one in found.values()} >= {"gemm", "gemv", "mlp", "stream"}
    ranks = Counter()
    for number, one in found.items():
        job = jobs[number]
        assert (job.state, job.partition) == ("COMPLETED", "cpu")
        assert all(nodes == set(job.nodes) for nodes in nodes_of(one)), one["case"]
        ranks[len(job.nodes)] += 1
        assert all(map(are_apart, one["processes"])), one["case"]
    assert ranks[1] > ranks[2] > 0
    told = json.loads((project.folder / "results/machines/cluster-cpu.json").read_text())
    assert told["cores"] == NODES["cores"]
    # One more tells what a node is, and none was for anything else.
    assert len(set(jobs) - set(found)) == 1
    again = subprocess.run([*smoke, "-n"], cwd=project.folder, env=environment, capture_output=True, text=True)
    assert "Nothing to be done" in again.stdout + again.stderr


def test_a_case_for_a_gpu_gets_a_node_and_a_card_of_its_own(slurm, described, project, tmp_path):
    """There is no card: a stand-in says who asked for it, and then CUDA finds nothing, which ends the job in words."""
    stand_ins = f"{ROOT}/tests/stand_ins{os.pathsep}{ROOT}/tests/stand_in_nvml"
    variables = f"CARDS=1 CARDS_ASKED={tmp_path}/asked PYTHONPATH={stand_ins}:$PYTHONPATH FAULT=device"
    described(gpu=ON_GPUS, prelude=f"export {variables}")
    project.add("both", {"blas": {"threads": 1}, "cublas": {"math": "default"}})
    line, environment = project.command("results/table.csv", "--profile", "cluster")
    environment["PYTHONPATH"] += f"{os.pathsep}{stand_ins}"
    done = subprocess.run(line, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert said.count("There is no GPU to work on: ") >= 2, said[-3000:]
    assert {case.split("/")[1] for case in cases(project.folder)} == {"blas"}

    asked = {tuple(words.split(" ")) for words in (tmp_path / "asked").read_text().splitlines()}
    on_cards = [job for job in slurm.jobs() if job.partition == "gpu" and str(job.id) in {one[1] for one in asked}]
    assert len(on_cards) == 2
    for job in on_cards:
        assert (job.state, len(job.nodes)) == ("FAILED", 1)
        # The first of the node, says Slurm; then the worker sees the one that was leased.
        (node,) = job.nodes
        seen = {(where, card) for where, number, card in asked if number == str(job.id)}
        assert seen == {(node, "0"), (node, f"GPU-{node}")}


@pytest.mark.parametrize(
    ("state", "command"),
    [("CANCELLED", "scancel {}"), ("TIMEOUT", "scontrol update JobId={} EndTime=now+1")],
)
def test_a_job_that_is_ended_costs_its_case_alone(slurm, described, project, state, command):
    described()
    run = Run(waits(project, 0, 60))
    number = run.job("seconds=60")
    virtual.output(*command.format(number).split())
    said, status = run.end()
    assert slurm.ended(number).state == state
    assert status == 1
    assert len(cases(project.folder)) == 3
    assert missing(said) == ["seconds=60"]


def test_a_node_that_fails_costs_nothing(slurm, described, project):
    described()
    run = Run(waits(project, 0, 20))
    run.job("seconds=20")
    node = virtual.output("squeue", "--noheader", "--states=RUNNING", "--format=%N|%k")
    node = next(line.split("|")[0] for line in node.splitlines() if "seconds=20" in line)
    slurm.down(node)
    try:
        said, status = run.end()
    finally:
        slurm.up(node)
    assert status == 0, said[-3000:]
    assert len(cases(project.folder)) == 4
    assert {node} not in nodes_of(next(one for one in records(project.folder).values() if "seconds=20" in one["case"]))


def test_a_killed_run_is_continued_and_no_case_is_measured_by_two(slurm, described, project):
    described()
    run = Run(waits(project, 0, 30))
    number = run.job("seconds=30")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    before = cases(project.folder)
    run = Run(project)
    said, status = run.end()
    assert status == 0, said[-3000:]
    assert slurm.ended(number).state == "CANCELLED"
    assert str(number) in said.split("cancelled what an earlier run left in Slurm: ")[1].splitlines()[0]
    assert len(before) < 4
    assert len(cases(project.folder)) == 4
    rows = (project.folder / "results/table.csv").read_text()
    for one in records(project.folder).values():
        samples = sum(len(process["samples"]) for process in one["processes"])
        assert rows.count(f'"{one["case"]}"') == samples


def test_what_slurm_refuses_is_said_before_anything_is_submitted(slurm, described, project):
    described(cpu={**NODES, "memory": 9000})
    before = len(slurm.jobs())
    out, status = waits(project, 0).snakemake("--profile", "cluster")
    assert status == 1
    assert "Change `memory: 9000` there" in out
    assert "Traceback" not in out
    assert len(slurm.jobs()) == before
