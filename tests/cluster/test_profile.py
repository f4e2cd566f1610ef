"""`snakemake --profile cluster`: where jobs run, and which cases are missing after faults, by Slurm's log."""

import json
import os
import re
import signal
import subprocess
from collections import Counter

import pytest

from cluster import slurm as virtual_slurm
from cluster.conftest import NODES
from conftest import ROOT
from ladder.records import record

pytestmark = pytest.mark.cluster
# The states of jobs are queried more often than a large Slurm should be.
CLUSTER_OPTIONS = ("--profile", "cluster", "--slurm-init-seconds-before-status-checks", "1")
RANK_NODES = {**NODES, "count": 2, "launcher": "srun --mpi=pmi2"}
GPU_NODES = {**NODES, "partition": "gpu", "machine": "cluster-gpu", "gpus": 1}
SIZES = {"form": "nn", "m": 17, "n": 5, "k": 3}


def records(folder):
    """{job's number: record}; there is one job for each, and the records are whole.

    Of a process, `threads` has all that was read back: also its node, its affinity, its GPU, and its ranks with theirs.
    """
    documents = [record.read(path) for path in sorted((folder / "results/records").rglob("*.json"))]
    by_job = {int(document["slurm"]["SLURM_JOB_ID"]): document for document in documents}
    assert len(by_job) == len(documents)
    return by_job


def cases(folder):
    return {f"{document['workload']}/{document['variant']}/{document['case']}" for document in records(folder).values()}


def nodes_of_ranks(document):
    """The nodes on which the ranks of a record ran: a list with a set for each process."""
    return [
        {rank["node"] for rank in process["threads"].get("ranks", [process["threads"]])}
        for process in document["processes"]
    ]


def ranks_have_own_cores(process):
    """Whether ranks on one node have cores of their own."""
    cores = [(rank["node"], core) for rank in process["threads"].get("ranks", []) for core in rank["affinity"]]
    return len(cores) == len(set(cores))


def running_job(words):
    """The number of the running job for a case whose path has these words, by the comment that Snakemake gives it."""
    lines = virtual_slurm.output("squeue", "--noheader", "--states=RUNNING", "--format=%i|%k").splitlines()
    return next((int(line.split("|")[0]) for line in lines if words in line), None)


def add_waiting_cases(study, *seconds):
    """Add two cases of a product that doesn't wait (k = 1 and 9), and one for each of these numbers of seconds.

    The latter wait for as long, or until `end_waiting` if that is earlier.
    """
    study.add("quick", {"blas": {"threads": 1}})
    return study.add("slow", {"waiting": {"seconds": list(seconds), "threads": 1}}, sizes=SIZES)


def end_waiting(study):
    """End the waiting of all cases."""
    (study.folder / "go").touch()


class Run:
    """A run of Snakemake in the background that makes the table of all samples."""

    def __init__(self, study):
        line, environment = study.command("results/table.csv", *CLUSTER_OPTIONS)
        self.log = study.folder / "run.log"
        self.process = subprocess.Popen(
            line, cwd=study.folder, env=environment, stdout=self.log.open("w"), stderr=subprocess.STDOUT
        )

    def wait_for_job(self, words):
        """Wait for the job of a case to run; returns its number."""
        return virtual_slurm.wait_for(lambda: running_job(words), f"a job for {words} to run", 180)

    def act_on_jobs(self, actions):
        """Call the action of each job once it runs; returns the jobs' numbers in the order of `actions`.

        `actions` is {words in the path of the job's case: function of the job's number}. They are called in the order
        in which the jobs start, because on a busy machine one may have ended before another begins.
        """
        numbers = {}

        def act_on_new_jobs():
            for words in actions.keys() - numbers.keys():
                if number := running_job(words):
                    numbers[words] = number
                    actions[words](number)
            return len(numbers) == len(actions)

        virtual_slurm.wait_for(act_on_new_jobs, f"a job for each of {', '.join(actions)} to run", 180)
        return [numbers[words] for words in actions]

    def wait_until_ended(self):
        """Wait for the end; returns the log and the status."""
        self.process.wait(timeout=600)
        return self.log.read_text(), self.process.returncode


def missing_cases(output):
    """The cases, as `seconds=60`, that a run's summary lists as missing, each at the beginning of a line.

    Lines of logs that are quoted there may name others.
    """
    return set(re.findall(r"^  \S+(seconds=\d+)", output.rpartition("ladder: Of ")[2], re.MULTILINE))


def add_one_case_of_each_kind(study):
    """Add what measurements may need: cores, ranks on two nodes, compiled code, data, a reference and ceilings."""
    study.add("products", {"blas": {"threads": 1}, "openmp": {"threads": 2}}, sizes=SIZES)
    study.add("ranks", {"mpi": {"ranks": 2, "mode": "ship"}}, sizes={"n": 65, "m": 33}, workload="gemv")
    training = {"layers": "784-7-10", "images": 65, "batch": 30, "epochs": 1, "rate": 0.5, "source": "digits"}
    study.add("training", {"host": {"product": "blas", "threads": 1}}, sizes=training, workload="mlp")
    sizes = {"kernel": "read", "elements": 65536}
    return study.add("ceiling_read", {"openmp": {"threads": 1}}, sizes=sizes, workload="stream")


def test_a_study_ends_in_the_paper_and_every_measurement_ran_where_it_should(slurm, describe_cluster, project):
    describe_cluster(mpi=RANK_NODES)
    before = {job.id for job in slurm.jobs()}
    out, status = add_one_case_of_each_kind(project).snakemake(*CLUSTER_OPTIONS)
    assert status == 0, out[-3000:]
    assert (project.folder / "results/paper.pdf").stat().st_size > 50_000
    jobs = {job.id: job for job in slurm.jobs() if job.id not in before}
    documents = records(project.folder)
    assert Counter(document["workload"] for document in documents.values()) == {
        "gemm": 2,
        "gemv": 1,
        "mlp": 1,
        "stream": 1,
    }
    records_by_node_count = Counter()
    for number, document in documents.items():
        job = jobs[number]
        assert (job.state, job.partition) == ("COMPLETED", "cpu")
        assert all(nodes == set(job.nodes) for nodes in nodes_of_ranks(document)), document["case"]
        records_by_node_count[len(job.nodes)] += 1
        assert all(map(ranks_have_own_cores, document["processes"])), document["case"]
    assert records_by_node_count == {1: 4, 2: 1}
    description = json.loads((project.folder / "results/machines/cluster-cpu.json").read_text())
    assert description["cores"] == NODES["cores"]
    # One more job describes a node, and there are no others.
    assert len(set(jobs) - set(documents)) == 1
    out, _ = project.snakemake("-n", *CLUSTER_OPTIONS)
    assert "Nothing to be done" in out


def test_a_case_for_a_gpu_gets_a_node_and_a_gpu_of_its_own(slurm, describe_cluster, project, tmp_path):
    """There is no GPU: a stand-in logs who asked for it, and CUDA then finds none, which ends the job."""
    stand_ins = f"{ROOT}/tests/fake_cupy{os.pathsep}{ROOT}/tests/stand_in_nvml"
    variables = f"LADDER_FAKE_GPUS=1 LADDER_FAKE_GPUS_LOG={tmp_path}/gpu-queries LADDER_FAULT=device"
    variables += f" PYTHONPATH={stand_ins}:$PYTHONPATH"
    describe_cluster(gpu={**GPU_NODES, "share": True, "prelude": f"export {variables}"})
    project.add("both", {"blas": {"threads": 1}, "cublas": {"math": "default"}})
    line, environment = project.command("results/table.csv", *CLUSTER_OPTIONS)
    environment["PYTHONPATH"] += f"{os.pathsep}{stand_ins}"
    result = subprocess.run(line, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=600)
    output = result.stdout + result.stderr
    assert result.returncode == 1
    assert output.count("There is no GPU to work on: ") >= 2, output[-3000:]
    assert {case.split("/")[1] for case in cases(project.folder)} == {"blas"}

    # (node, job, visible GPUs) of each query.
    gpu_queries = {tuple(words.split(" ")) for words in (tmp_path / "gpu-queries").read_text().splitlines()}
    gpu_jobs = [
        job
        for job in slurm.jobs()
        if job.partition == "gpu" and str(job.id) in {number for _, number, _ in gpu_queries}
    ]
    assert len(gpu_jobs) == 2
    for job in gpu_jobs:
        assert (job.state, len(job.nodes)) == ("FAILED", 1)
        # The first of the node, by Slurm; then the worker sees the one that was leased.
        (node,) = job.nodes
        visible_gpus = {(node_name, gpu) for node_name, number, gpu in gpu_queries if number == str(job.id)}
        assert visible_gpus == {(node, "0"), (node, f"GPU-{node}")}


def test_ranks_have_a_gpu_each_on_as_many_nodes_as_it_takes(slurm, describe_cluster, project):
    """On stand-ins, whose products are those of NumPy."""
    stand_ins = f"{ROOT}/tests/fake_cupy{os.pathsep}{ROOT}/tests/stand_in_nvml"
    gpu = {**GPU_NODES, "count": 2, "launcher": "srun --mpi=pmi2"}
    describe_cluster(gpu=gpu, prelude=f"export LADDER_FAKE_GPUS=1 PYTHONPATH={stand_ins}:$PYTHONPATH")
    tuning = {"ranks": [1, 2, 3], "mode": "ship"}
    project.add("products", {"mpi_cublas": tuning, "nccl_cublas": tuning}, sizes={"n": 65, "m": 33}, workload="gemv")
    line, environment = project.command("results/table.csv", *CLUSTER_OPTIONS)
    environment["PYTHONPATH"] += f"{os.pathsep}{stand_ins}"
    result = subprocess.run(line, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=600)
    output = result.stdout + result.stderr
    assert result.returncode == 0, output[-3000:]
    assert "needs 3 GPUs, 2 available" in output
    jobs = {job.id: job for job in slurm.jobs()}
    documents = records(project.folder)
    assert Counter(len(jobs[number].nodes) for number in documents) == {1: 2, 2: 2}
    for number, document in documents.items():
        job = jobs[number]
        assert (job.state, job.partition) == ("COMPLETED", "gpu")
        assert all(nodes == set(job.nodes) for nodes in nodes_of_ranks(document)), document["case"]
        for process in document["processes"]:
            assert len({rank["gpu"]["uuid"] for rank in process["threads"]["ranks"]}) == len(job.nodes)


def test_after_jobs_are_ended_only_their_cases_are_missing(slurm, describe_cluster, project):
    describe_cluster()
    run = Run(add_waiting_cases(project, 0, 60, 61))
    cancelled, timed_out = run.act_on_jobs(
        {
            "seconds=60": lambda number: virtual_slurm.output("scancel", number),
            "seconds=61": lambda number: virtual_slurm.output("scontrol", "update", f"JobId={number}", "EndTime=now+1"),
        }
    )
    output, status = run.wait_until_ended()
    assert (slurm.wait_until_ended(cancelled).state, slurm.wait_until_ended(timed_out).state) == (
        "CANCELLED",
        "TIMEOUT",
    )
    assert status == 1
    assert len(cases(project.folder)) == 3  # two quick ones, and seconds=0
    assert missing_cases(output) == {"seconds=60", "seconds=61"}


def test_after_a_node_fails_its_case_is_measured_on_another(slurm, describe_cluster, project):
    describe_cluster()
    run = Run(add_waiting_cases(project, 0, 600))
    run.wait_for_job("seconds=600")
    lines = virtual_slurm.output("squeue", "--noheader", "--states=RUNNING", "--format=%N|%k").splitlines()
    node = next(line.split("|")[0] for line in lines if "seconds=600" in line)
    slurm.take_down(node)
    end_waiting(project)
    try:
        output, status = run.wait_until_ended()
    finally:
        slurm.bring_up(node)
    assert status == 0, output[-3000:]
    assert len(cases(project.folder)) == 4  # two quick ones, seconds=0 and seconds=600
    assert {node} not in nodes_of_ranks(
        next(document for document in records(project.folder).values() if "seconds=600" in document["case"])
    )


def test_a_killed_run_is_continued_and_no_case_is_measured_by_two(slurm, describe_cluster, project):
    describe_cluster()
    run = Run(add_waiting_cases(project, 0, 600))
    number = run.wait_for_job("seconds=600")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    before = cases(project.folder)
    run = Run(project)
    assert slurm.wait_until_ended(number).state == "CANCELLED"
    end_waiting(project)
    output, status = run.wait_until_ended()
    assert status == 0, output[-3000:]
    assert str(number) in output.split("cancelled the Slurm jobs of an earlier run: ")[1].splitlines()[0]
    assert len(before) < 4
    assert len(cases(project.folder)) == 4
    rows = (project.folder / "results/table.csv").read_text()
    for document in records(project.folder).values():
        samples = sum(len(process["samples"]) for process in document["processes"])
        assert rows.count(f'"{document["case"]}"') == samples


def test_what_slurm_refuses_is_reported_before_any_job_is_submitted(slurm, describe_cluster, project):
    describe_cluster(cpu={**NODES, "memory": 9000})
    before = len(slurm.jobs())
    out, status = add_waiting_cases(project, 0).snakemake(*CLUSTER_OPTIONS)
    assert status == 1
    assert "Change `memory: 9000` there" in out
    assert "Traceback" not in out
    assert len(slurm.jobs()) == before
