"""The totals that a run on a cluster announces: jobs, nodes, GPUs, hours at most, and skipped cases."""

from types import SimpleNamespace

import pytest

from ladder.planning import slurm
from ladder.records import record
from ladder.workflow import totals
from ladder.workflow.resources import JobResources
from small_plans import CLUSTER, experiment, job_wildcards, read_plan

VARIANTS = {
    "blas": {"threads": [1, 2, 9]},
    "mpi": {"ranks": 2, "mode": "ship"},
    "cublas": {},
    "mpi_cublas": {"ranks": [2, 3], "mode": "ship"},
}
GPU = CLUSTER["gpu"] | {"launcher": "srun", "minutes": 60}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty working directory, and CuPy installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(slurm, "is_installed", lambda library: True)


def summary_lines(**gpu):
    """The lines for a study that measures all of its cases; `gpu` changes the description of the nodes with GPUs.

    A job may run for 60 minutes on these nodes, for 30 on others; each of 6 cases takes samples for at most 90 s.
    """
    plan = read_plan(
        {"one": experiment(VARIANTS, "gemv", {"n": 7, "m": 5}, protocol={"cap": 90})}, CLUSTER | {"gpu": GPU | gpu}
    )
    resources, jobs = JobResources(plan), [SimpleNamespace(output=["results/stamps/x.txt"], resources={})]
    for item in plan.cases:
        if not item.skip_reason:
            wildcards = job_wildcards(item.case)
            values = {
                name: value(wildcards, **{"attempt": 1} if name == "runtime" else {}) if callable(value) else value
                for name, value in resources.measuring_resources.items()
            }
            output = [record.path_of(item.machine, item.case.key)]
            jobs.append(SimpleNamespace(output=output, wildcards=wildcards, resources=values))
    return totals.summary(plan, jobs)


def test_jobs_are_counted_by_kind_of_nodes_with_their_gpus_and_hours():
    assert summary_lines() == [
        "ladder: 6 jobs for the cluster, at most 5 node-hours and 6 GPU-hours by their time limits; the protocols plan "
        "0.15 h of sampling:",
        "  cpu: 2 jobs on 1 node each; at most 1 node-hours.",
        "  mpi: 1 job on 2 nodes each; at most 1 node-hours.",
        "  gpu: 3 jobs on 1 node each with 1 to 3 GPUs; at most 3 node-hours and 6 GPU-hours; 1 on 1 GPU of 4, whole "
        "nodes all the same: see the key `share`.",
        "ladder: 1 case of the whole plan can't run on these nodes: 1 (needs 9 cores, 8 available).",
    ]


def test_without_cupy_the_totals_say_that_the_run_will_be_refused(monkeypatch):
    before = summary_lines()
    monkeypatch.setattr(slurm, "is_installed", lambda library: False)
    *lines, last = summary_lines()
    assert lines == before
    assert last.startswith("ladder: This run will be refused. There are cases for the cluster's GPUs, but CuPy isn't ")


def test_a_case_that_shares_its_node_takes_a_part_of_it():
    lines = summary_lines(share=True)
    assert "at most 4.25 node-hours and 6 GPU-hours" in lines[0]
    assert lines[3].endswith("at most 2.25 node-hours and 6 GPU-hours; 1 on 1 GPU of 4, of which 1 share nodes.")


def test_without_jobs_the_totals_are_zero():
    (line,) = totals.summary(read_plan({}, CLUSTER), [])
    assert line == "ladder: 0 jobs for the cluster, at most 0 node-hours by their time limits."


def test_the_most_frequent_reasons_are_named_and_the_others_counted():
    reasons = ["a", "a", "b", "b", "c", "c", "d"]
    items = [SimpleNamespace(case=SimpleNamespace(key=key), skip_reason=reason) for key, reason in enumerate(reasons)]
    (line,) = totals.skipped_line(SimpleNamespace(cases=items))
    assert line.endswith(
        "7 cases of the whole plan can't run on these nodes: 2 (a), 2 (b), 2 (c), 1 for other reasons, which "
        "`ladder list --cluster` prints."
    )


def test_the_wall_time_is_that_of_the_jobs_at_a_time():
    demands = [totals.Demand(nodes=1, gpus=0, hours=hours) for hours in [0.5] * 10 + [2.0]]
    assert totals.wall_line(demands, 100).endswith("With 11 jobs at a time at most 2 h, without waiting in the queue.")
    assert totals.wall_line(demands, 10).endswith("With 10 jobs at a time at most 2.5 h, without waiting in the queue.")
    assert totals.wall_line(demands, 1).endswith("With 1 job at a time at most 7 h, without waiting in the queue.")


def test_jobs_that_measure_no_case_are_counted_apart():
    plan = read_plan({"one": experiment({"blas": {"threads": 1}}, "gemv", {"n": 7, "m": 5})}, CLUSTER)
    resources = {"kind": "cpu", "nodes": 1, "runtime": 30, "slurm_extra": "--exclusive"}
    (case,) = [item.case for item in plan.cases]
    path = record.path_of(plan.cases[0].machine, case.key)
    jobs = [SimpleNamespace(output=["results/machines/a.json"], resources=resources) for _ in range(2)]
    jobs.append(SimpleNamespace(output=[path], wildcards=job_wildcards(case), resources=resources))
    head, *_, wall = totals.summary(plan, jobs, max_jobs=2)
    assert head.startswith("ladder: 3 jobs for the cluster, 1 of them measurements, at most 1.5 node-hours")
    assert wall.startswith("  With 2 jobs at a time at most 1 h")
