"""Whether Slurm accepts the jobs of a cluster's description, and which key is named if not."""

import os

import pytest

from ladder.errors import LadderError
from ladder.planning import cluster_description
from ladder.planning import slurm as scheduler
from ladder.records.case import Case

NODES = {"partition": "cpu", "machine": "lab", "cores": 2, "memory": 3000}
KINDS = ("cpu", "mpi", "gpu")
GPU_KEYS = {"partition": "gpu", "gpus": 1}


def describe(kind="cpu", **nodes):
    """A validated description in which keys of one kind of nodes differ."""
    kinds = {"cpu": NODES, "mpi": {**NODES, "count": 2}, "gpu": {**NODES, **GPU_KEYS}}
    kinds = {name: keys | {"machine": f"lab-{name}"} for name, keys in kinds.items()}
    return cluster_description.validate({"nodes": kinds | {kind: kinds[kind] | nodes}}, "site.yaml")


@pytest.mark.cluster
def test_available_nodes_are_accepted(slurm):
    scheduler.require_accepted(describe(), "site.yaml", KINDS)


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("cpu", "partition", "cpus"),
        ("mpi", "partition", "cpus"),
        ("cpu", "memory", 5000),
        ("cpu", "cores", 3),
        ("mpi", "count", 3),
        ("cpu", "minutes", 61),
        ("gpu", "gpus", 2),
        ("cpu", "constraint", "fast"),
        ("cpu", "options", ["--begin=never"]),
    ],
)
def test_a_wrong_key_is_named_with_its_value(slurm, kind, key, value):
    with pytest.raises(LadderError, match=rf"^Slurm refuses jobs for the nodes `{kind}` of site.yaml: ") as error:
        scheduler.require_accepted(describe(kind, **{key: value}), "site.yaml", KINDS)
    assert f"Change `{key}: {value}` there. `sinfo" in str(error.value)


@pytest.mark.cluster
def test_with_two_wrong_keys_no_single_one_is_to_blame(slurm):
    with pytest.raises(LadderError, match="No single key is to blame"):
        scheduler.require_accepted(describe(cores=3, memory=5000), "site.yaml", KINDS)


@pytest.mark.cluster
def test_without_accounting_any_account_is_accepted(slurm):
    scheduler.require_accepted(describe() | {"account": "nobody"}, "site.yaml", KINDS)


@pytest.fixture
def put_programs(tmp_path, monkeypatch):
    """A function that puts programs, by their shell scripts, first on the PATH."""

    def put(**scripts):
        for name, script in scripts.items():
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return put


# The message of a Slurm with an accounting database; the virtual Slurm of the tests has none.
REFUSED_ACCOUNT = (
    'case "$*" in *--account=*)'
    " echo 'allocation failure: Invalid account or account/partition combination specified' >&2; exit 1;; esac"
)


def test_an_account_that_slurm_refuses_is_named(put_programs):
    put_programs(sbatch=REFUSED_ACCOUNT)
    with pytest.raises(LadderError, match=r"Invalid account or .*Change `account: nobody` there") as error:
        scheduler.require_accepted(describe() | {"account": "nobody"}, "site.yaml", KINDS)
    assert "allocation failure" not in str(error.value)


def test_a_missing_account_is_named(put_programs):
    put_programs(sbatch="echo 'allocation failure: Invalid account or account/partition' >&2; exit 1")
    with pytest.raises(LadderError, match=r"Change `account: null` there"):
        scheduler.require_accepted(describe(), "site.yaml", KINDS)


def test_options_that_have_a_key_are_refused_before_snakemake_does(put_programs):
    put_programs(sbatch="exit 0")
    for option in ("--constraint=fast", "-C fast", "--mem=3000", "--nodes=3"):
        with pytest.raises(LadderError, match=r"can't be among nodes' options.*nodes.cpu.options of site.yaml"):
            scheduler.require_accepted(describe(options=[option]), "site.yaml", KINDS)
    scheduler.require_accepted(describe(options=["--reservation=us --hint nomultithread"]), "site.yaml", KINDS)


def test_kinds_without_cases_are_not_tested(put_programs):
    put_programs(sbatch='case "$*" in *--partition=gpu*) echo no >&2; exit 1;; esac')
    scheduler.require_accepted(describe(), "site.yaml", ["cpu", "mpi"])
    with pytest.raises(LadderError, match="nodes `gpu`"):
        scheduler.require_accepted(describe(), "site.yaml", KINDS)


def test_an_account_of_others_is_named_even_if_slurm_accepts_it(put_programs):
    put_programs(sbatch="exit 0", sacctmgr="echo physics; echo chemistry")
    scheduler.require_accepted(describe() | {"account": "physics"}, "site.yaml", KINDS)
    with pytest.raises(LadderError, match=r"`account: biology` of site.yaml.*(physics|chemistry)"):
        scheduler.require_accepted(describe() | {"account": "biology"}, "site.yaml", KINDS)


def test_without_slurm_the_error_names_the_login_node(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LadderError, match=r"no `sbatch` here: .* login node"):
        scheduler.require_accepted(describe(), "site.yaml", KINDS)


def test_a_type_of_gpu_is_requested_by_its_name():
    site = describe("gpu", gpus=4, model="h100")
    assert scheduler.options_of(site["nodes"]["gpu"], site)["gpus"] == ["--gpus-per-node=h100:4"]
    assert scheduler.options_of(site["nodes"]["cpu"], site)["gpus"] == []


def test_cases_on_gpus_require_cupy(monkeypatch):
    monkeypatch.setattr(scheduler, "is_installed", lambda library: False)
    sizes = {"n": 5, "m": 3, "dtype": "float64", "seed": 1}
    scheduler.require_packages([Case("gemv", "blas", sizes, {"threads": 1})])
    with pytest.raises(LadderError, match=r"CuPy isn't installed: `make setup GPU=1`"):
        scheduler.require_packages([Case("gemv", "cublas", sizes, {})])


def test_a_folder_whose_name_snakemake_would_have_to_quote_is_refused():
    scheduler.require_plain_path("/home/me/ladder-1.0/.venv/bin/python")
    with pytest.raises(LadderError, match=r"can't start /my clone/.venv/bin/python: .* Move the project"):
        scheduler.require_plain_path("/my clone/.venv/bin/python")
