"""The plans of `snakemake -n --profile cluster`, which requires no Slurm."""

import re
import subprocess

import pytest

from conftest import ROOT
from ladder.__main__ import main
from ladder.machine import nvidia

pytestmark = pytest.mark.workflow


def dry_run_cases(project, *arguments):
    """The cases that a dry run would measure, of the shipped study if none is named: {(machine, workload, variant)}."""
    line, environment = project.command()
    line = [*line[: line.index("--configfile")], "-n", *arguments]
    result = subprocess.run(line, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr[-3000:]
    pattern = r"^rule measure:.*?wildcards: machine=(\S+), workload=(\w+), variant=(\w+)"
    return set(re.findall(pattern, result.stdout, re.MULTILINE | re.DOTALL))


@pytest.mark.slow
def test_cases_are_planned_for_the_clusters_machines_and_else_for_this_one(project, monkeypatch):
    monkeypatch.delenv("LADDER_SITE", raising=False)
    toy_options = "--configfile", "config/smoke.yaml"
    planned_cases = dry_run_cases(project, "--profile", "cluster", *toy_options)
    assert {label for label, _, _ in planned_cases} == {"cluster-cpu", "cluster-gpu"}
    gpu_variants = {
        ("gemm", "cuda_tiled"),
        ("gemm", "cublas"),
        ("gemv", "cuda_warp"),
        ("mlp", "cuda"),
        ("stream", "cuda"),
    }
    assert gpu_variants < {(workload, variant) for label, workload, variant in planned_cases if label == "cluster-gpu"}
    assert ("cluster-cpu", "gemv", "mpi") in planned_cases
    if not nvidia.gpus():
        assert not gpu_variants & {
            (workload, variant) for _, workload, variant in dry_run_cases(project, "--cores", "2", *toy_options)
        }


@pytest.mark.slow
def test_for_one_figure_only_its_cases_and_ceilings_are_planned(project, describe_cluster):
    describe_cluster()
    planned_cases = dry_run_cases(project, "--profile", "cluster", "results/figures/gemv_scaling.pdf")
    host_variants = {"openmp", "openmp_bound", "c_openmp", "blas", "mpi", "mpi_openmp"}
    assert {variant for _, workload, variant in planned_cases if workload == "gemv"} == host_variants
    # The rest are the ceilings, with which results are compared.
    assert {workload for _, workload, _ in planned_cases} <= {"gemv", "gemm", "stream"}
    assert {variant for _, workload, variant in planned_cases if workload == "gemm"} <= {"blas"}


@pytest.mark.slow
def test_a_dry_run_says_in_its_first_ten_lines_what_would_run(project, describe_cluster):
    describe_cluster()
    # Two sizes for each number of threads; a job may take 10 minutes, so four take at most 2/3 h.
    project.add("products", {"blas": {"threads": [1, 2, 64]}})
    out, status = project.snakemake("-n", "results/table.csv", "--profile", "cluster")
    assert status == 0, out[-3000:]
    head = "\n".join(out.splitlines()[:10])
    assert "ladder: 4 jobs for the cluster, at most 0.6667 node-hours by their time limits" in head
    assert "\n  cpu: 4 jobs on 1 node each; at most 0.6667 node-hours." in head
    assert "\n  With 4 jobs at a time at most 0.167 h, without waiting in the queue." in head
    assert "ladder: 2 cases of the whole plan can't run on these nodes: 2 (needs 64 cores, 2 available)." in head


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        pytest.param({"gpus": None}, "nodes.gpu.gpus: None is not of type", marks=pytest.mark.slow),
        ({}, "nodes.gpu: 'gpus' is a required property"),
    ],
)
def test_a_dry_run_refuses_a_kind_of_nodes_for_gpus_without_any(project, describe_cluster, kind, sentence):
    describe_cluster(gpu={"partition": "gpu", "machine": "g", "cores": 2, "memory": 3000} | kind)
    project.add("products", {"cublas": {}})
    out, status = project.snakemake("-n", "--profile", "cluster")
    assert status == 1
    assert sentence in out
    assert "Traceback" not in out


def test_the_list_of_cases_for_a_cluster_names_the_reasons_for_skipping(tmp_path, capsys, monkeypatch):
    (tmp_path / "site.yaml").write_text(
        "nodes: {cpu: {partition: p, machine: lab, cores: 2, memory: 1000}}", encoding="utf-8"
    )
    monkeypatch.setenv("LADDER_SITE", str(tmp_path / "site.yaml"))
    arguments = ["list", "--cluster", "--configfile", str(ROOT / "config/smoke.yaml")]
    main(arguments)
    out = capsys.readouterr().out
    assert "cases to run on the cluster, " in out
    assert re.search(r"gemm/cublas/\S+\tskipped: ", out)
    with pytest.raises(SystemExit):
        main([*arguments, "--gpus", "1"])
    assert "--cluster takes cores and GPUs from the cluster's description" in capsys.readouterr().err
