"""Targets: this machine, and the kinds of nodes in the description of a cluster."""

from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import preconditions
from ladder.planning import plan, targets
from ladder.records import record
from ladder.records.case import Case

# The description of one kind of nodes, to which tests add keys.
NODES = {"partition": "p", "machine": "lab", "cores": 8, "memory": 1000}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A function that writes a cluster's description, names its file by SITE_VARIABLE, and reads it."""

    def write(**description):
        path = tmp_path / "site.yaml"
        path.write_text(yaml.safe_dump(description))
        monkeypatch.setenv(targets.SITE_VARIABLE, str(path))
        return targets.site()

    return write


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mpiexec '", "is \"mpiexec '\", which isn't a command line: No closing quotation"),
        (" ", "is empty: name a program"),
    ],
)
def test_a_malformed_launcher_is_refused(text, sentence, site):
    key = "The launcher of MPI's ranks, the key `mpi`, "
    with pytest.raises(LadderError, match=key + sentence):
        targets.this_machine({"cores": 2, "gpus": 0, "machine": "here", "mpi": text})
    with pytest.raises(LadderError, match="site.yaml is wrong: nodes.cpu.launcher " + sentence):
        site(nodes={"cpu": NODES | {"launcher": text}})
    with pytest.raises(LadderError, match=r"site.yaml is wrong: nodes.cpu.options is .* No closing quotation"):
        site(nodes={"cpu": NODES | {"options": ["--comment='a", "b"]}})


def case_of(variant, **tuning):
    return Case("gemv", variant, workloads.complete("gemv", {"n": 5, "m": 3}), tuning)


def reason_of(case, target):
    """Why a case is skipped on a target, as a sentence, or None."""
    reason = plan.skip_reason(case, peers=True, target=target)
    return reason and str(reason)


@pytest.mark.parametrize(
    ("quota", "reason"), [(0.5, "needs 1 core, but the control group has a quota of 0.5"), (1, None)]
)
def test_a_case_with_more_cores_than_the_quota_is_skipped(monkeypatch, quota, reason):
    monkeypatch.setattr(targets.control_groups, "quota", lambda: quota)
    target = targets.this_machine({"cores": "auto", "gpus": 0, "machine": "here", "mpi": None})["cpu"]
    assert (target.cores, reason_of(case_of("blas", threads=1), target)) == (1, reason)
    with pytest.raises(LadderError, match=f"uses 2 CPUs, .* a quota of {quota}"):
        preconditions.require_preconditions(case_of("blas", threads=2), None)


@pytest.mark.parametrize(
    ("ranks", "nodes", "gres"),  # a node has four GPUs
    [(1, 1, "gpu:1"), (3, 1, "gpu:3"), (4, 1, "gpu:4"), (5, 2, "gpu:3"), (8, 2, "gpu:4"), (9, 3, "gpu:3")],
)
def test_ranks_use_as_many_nodes_as_their_gpus_need(site, ranks, nodes, gres):
    gpu = NODES | {"gpus": 4, "count": 3, "launcher": "srun"}
    target = targets.of_cluster(site(nodes={"cpu": NODES, "gpu": gpu}))["gpu"]
    case = case_of("mpi_cublas", ranks=ranks, mode="ship")
    assert plan.skip_reason(case, peers=True, target=target) is None
    assert (targets.nodes_of(target, case), targets.gres_of(target, case)) == (nodes, gres)


def test_kinds_of_different_nodes_need_different_labels(site):
    assert site(nodes={"cpu": NODES, "gpu": NODES | {"gpus": 4}})
    with pytest.raises(
        LadderError, match=r"nodes\.gpu\.machine: nodes\.cpu has the same label, lab, but 8 cores in place of 4"
    ):
        site(nodes={"cpu": NODES, "gpu": NODES | {"gpus": 4, "cores": 4}})


@pytest.mark.parametrize(
    ("changes", "case", "reason"),
    [
        ({}, ("gemv", "mpi_cublas", {"ranks": 13, "mode": "ship"}), "needs 13 GPUs, 12 available"),
        ({"count": 1}, ("gemv", "mpi_cublas", {"ranks": 8, "mode": "ship"}), "needs 8 GPUs, 4 available"),
        ({}, ("dcgan", "home", {"gpus": 5}), "needs 5 GPUs on one node, 4 available"),
        ({}, ("dcgan", "home", {"gpus": 4}), None),
        ({"cores": 3}, ("gemv", "mpi_cublas", {"ranks": 8, "mode": "ship"}), "needs 4 cores on a node, 3 available"),
        (
            {"launcher": None},
            ("gemv", "mpi_cublas", {"ranks": 2, "mode": "ship"}),
            "needs an MPI launcher, none available",
        ),
        (
            {"cores": 3},
            ("gemv", "mpi_openmp", {"ranks": 6, "mode": "ship", "threads": 2}),
            "needs 4 cores on a node, 3 available",
        ),
    ],
)
def test_cases_that_do_not_fit_on_the_nodes_are_skipped(site, changes, case, reason):
    gpu = NODES | {"machine": "lab-gpu", "gpus": 4, "count": 3, "launcher": "srun"} | changes
    target = targets.of_cluster(site(nodes={"cpu": NODES, "gpu": gpu}))["gpu"]
    workload, variant, tuning = case
    sizes = {"images": 50} if workload == "dcgan" else {"n": 5, "m": 3}
    case = Case(workload, variant, workloads.complete(workload, sizes), tuning)
    assert reason_of(case, target) == reason


def test_a_case_without_gpus_requests_all_nodes_of_its_kind(site):
    nodes_by_kind = {"cpu": NODES, "mpi": NODES | {"count": 4, "launcher": "srun"}}
    targets_by_kind = targets.of_cluster(site(nodes=nodes_by_kind))
    for kind, case, nodes in [
        ("cpu", case_of("blas", threads=2), 1),
        ("mpi", case_of("mpi", ranks=2, mode="ship"), 4),
    ]:
        assert (targets.nodes_of(targets_by_kind[kind], case), targets.gres_of(targets_by_kind[kind], case)) == (
            nodes,
            "",
        )


def test_the_shipped_description_is_valid_and_has_all_kinds(monkeypatch):
    monkeypatch.delenv(targets.SITE_VARIABLE, raising=False)
    targets_by_kind = targets.of_cluster(targets.site(ROOT / targets.SITE_FILE))
    assert set(targets_by_kind) == set(targets.KINDS)
    assert targets.labels(targets_by_kind) == ["cluster-cpu", "cluster-gpu"]


def test_a_case_runs_on_nodes_of_its_kind_or_else_on_those_for_cpus(site):
    nodes_by_kind = {"cpu": NODES, "mpi": NODES | {"count": 4, "machine": "lab-mpi", "launcher": "srun"}}
    targets_by_kind = targets.of_cluster(site(nodes=nodes_by_kind, account="a"))
    for case, label in [
        (case_of("blas", threads=2), "lab"),
        (case_of("mpi", ranks=1, mode="ship"), "lab"),
        (case_of("mpi", ranks=2, mode="ship"), "lab-mpi"),
        (case_of("cublas"), "lab"),
        (case_of("mpi_cublas", ranks=2, mode="ship"), "lab"),
    ]:
        assert targets.target_of(targets_by_kind, case).label == label
    assert (targets_by_kind["mpi"].cores, targets_by_kind["mpi"].nodes) == (8, 4)
    assert targets_by_kind["mpi"].slurm_resources == {
        "slurm_account": "a",
        "qos": None,
        "slurm_partition": "p",
        "mem_mb": 1000,
        "runtime": 30,
        "constraint": None,
        "slurm_extra": "--exclusive",
    }
    assert reason_of(case_of("cublas"), targets_by_kind["cpu"]) == "needs a GPU, none available"


def test_gpu_cases_are_planned_without_cupy_only_for_a_cluster(site, monkeypatch):
    monkeypatch.setattr(plan, "is_installed", lambda library: library != "cupy")
    targets_by_kind = targets.of_cluster(site(nodes={"cpu": NODES, "gpu": NODES | {"gpus": 2, "model": "h100"}}))
    assert targets.gres_of(targets_by_kind["gpu"], case_of("cublas")) == "gpu:h100:1"
    assert plan.skip_reason(case_of("cublas"), peers=True, target=targets_by_kind["gpu"]) is None
    assert (
        reason_of(case_of("cublas"), targets.Target("here", cores=2, gpus=1))
        == "cupy is not installed: `make setup GPU=1` installs it"
    )


@pytest.mark.parametrize(
    ("description", "text"),
    [
        ({}, "'nodes' is a required property"),
        ({"nodes": {}}, "'cpu' is a required property"),
        ({"nodes": {"cpu": NODES | {"partitions": "x"}}}, "partitions"),
        ({"nodes": {"cpu": NODES | {"cores": 0}}}, "nodes.cpu.cores"),
        ({"nodes": {"cpu": NODES | {"machine": "../x"}}}, "nodes.cpu.machine"),
        ({"nodes": {"cpu": NODES, "fpga": NODES}}, "fpga"),
        ({"nodes": {"cpu": NODES | {"count": 2}}}, "nodes.cpu.count"),
        ({"nodes": {"cpu": NODES}, "acount": "a"}, "acount"),
    ],
)
def test_the_error_of_a_wrong_description_names_file_and_key(site, description, text):
    with pytest.raises(LadderError, match=r"The cluster's description .*site\.yaml is wrong at ") as error:
        site(**description)
    assert text in str(error.value)


def test_without_a_description_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv(targets.SITE_VARIABLE, str(tmp_path / "none.yaml"))
    with pytest.raises(LadderError, match=r"There is no .*none\.yaml .* LADDER_SITE"):
        targets.site()


def test_a_path_has_no_comma_and_is_parsed_to_its_slug():
    case = case_of("mpi", ranks=2, mode="ship")
    path = record.path_of("here", case.key)
    assert "," not in path
    assert record.restore_commas(Path(path).stem) == case.slug


def test_this_machine_is_described_by_configuration_or_detection(monkeypatch):
    monkeypatch.setattr(targets.cpus, "cores", lambda: 16)
    monkeypatch.setattr(targets.nvidia, "gpus", lambda: ["one", "two", "three"])
    monkeypatch.setattr(targets.description, "label", lambda: "a-label")
    monkeypatch.setattr(targets.programs, "launcher", lambda command: f"found {command}")
    auto = {"cores": "auto", "gpus": "auto", "machine": "auto", "mpi": "auto"}
    assert targets.this_machine(auto) == {"cpu": targets.Target("a-label", cores=16, gpus=3, launcher="found auto")}
    config = {"cores": 4, "gpus": 1, "machine": "mine", "mpi": "srun"}
    assert targets.this_machine(config) == {"cpu": targets.Target("mine", cores=4, gpus=1, launcher="found srun")}
    assert targets.this_machine(config, 2)["cpu"].cores == targets.this_machine(auto, 2)["cpu"].cores == 2
    assert targets.this_machine(config, 9)["cpu"].cores == 4


def test_the_resources_of_a_target_are_those_of_its_description(site):
    nodes = {"partition": "q", "machine": "gpus", "cores": 64, "memory": 7000, "gpus": 4, "model": "a100", "count": 3}
    nodes |= {"minutes": 55, "constraint": "ib", "launcher": "srun", "options": ["--mail-type=NONE", "-v"]}
    target = targets.of_cluster(site(account="a", qos="high", nodes={"cpu": NODES, "gpu": nodes}))["gpu"]
    assert (target.label, target.cores, target.gpus, target.launcher) == ("gpus", 64, 4, "srun")
    assert (target.nodes, target.model) == (3, "a100")
    assert target.slurm_resources == {
        "slurm_account": "a",
        "qos": "high",
        "slurm_partition": "q",
        "mem_mb": 7000,
        "runtime": 55,
        "constraint": "ib",
        "slurm_extra": "--exclusive --mail-type=NONE -v",
    }


@pytest.mark.parametrize(
    ("kind", "nodes", "sentence"),
    [
        ("gpu", {}, r"wrong at nodes.gpu: 'gpus' is a required property"),
        ("gpu", {"gpus": 0}, r"wrong at nodes.gpu.gpus: 0 is less than the minimum of 1"),
        ("cpu", {"share": True}, r"wrong at nodes.cpu.share: only cases on one GPU share a node"),
        ("cpu", {"options": ["-C fast"]}, r"can't be among nodes' options.*nodes.cpu.options of \S*site.yaml"),
        ("cpu", {"preludes": ""}, r"wrong at nodes.cpu: .*'preludes' was unexpected"),
    ],
)
def test_a_wrong_kind_of_nodes_is_refused_when_planning(site, kind, nodes, sentence):
    with pytest.raises(LadderError, match=sentence):
        site(nodes={"cpu": NODES} | {kind: NODES | nodes})
