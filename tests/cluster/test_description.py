"""Slurm's answers to the jobs of a cluster's description, and which key of it is to blame."""

import os

import pytest

from ladder.errors import LadderError
from ladder.planning import configuration
from ladder.planning import slurm as scheduler
from ladder.records.case import Case

NODES = {"partition": "cpu", "machine": "lab", "cores": 2, "memory": 3000}
KINDS = ("cpu", "mpi", "gpu")
ON_GPUS = {"partition": "gpu", "gpus": 1}


def described(kind="cpu", **nodes):
    """A validated description in which keys of one kind of nodes differ."""
    kinds = {"cpu": NODES, "mpi": {**NODES, "count": 2}, "gpu": {**NODES, **ON_GPUS}}
    return configuration.validate_site({"nodes": kinds | {kind: kinds[kind] | nodes}}, "site.yaml")


@pytest.mark.cluster
def test_what_there_is_is_accepted(slurm):
    scheduler.require_accepted(described(), "site.yaml", KINDS)


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
        scheduler.require_accepted(described(kind, **{key: value}), "site.yaml", KINDS)
    assert f"Change `{key}: {value}` there. `sinfo" in str(error.value)


@pytest.mark.cluster
def test_with_two_wrong_keys_no_single_one_is_to_blame(slurm):
    with pytest.raises(LadderError, match="No single key is to blame"):
        scheduler.require_accepted(described(cores=3, memory=5000), "site.yaml", KINDS)


@pytest.mark.cluster
def test_where_nobody_keeps_accounts_any_is_accepted(slurm):
    scheduler.require_accepted(described() | {"account": "nobody"}, "site.yaml", KINDS)


@pytest.fixture
def pretended(tmp_path, monkeypatch):
    """A function that puts programs, by their shell scripts, first on the PATH."""

    def put(**scripts):
        for name, script in scripts.items():
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return put


# The message of a Slurm with a database, which the virtual one hasn't.
REFUSED_ACCOUNT = (
    'case "$*" in *--account=*)'
    " echo 'allocation failure: Invalid account or account/partition combination specified' >&2; exit 1;; esac"
)


def test_an_account_that_slurm_refuses_is_named(pretended):
    pretended(sbatch=REFUSED_ACCOUNT)
    with pytest.raises(LadderError, match=r"Invalid account or .*Change `account: nobody` there") as error:
        scheduler.require_accepted(described() | {"account": "nobody"}, "site.yaml", KINDS)
    assert "allocation failure" not in str(error.value)


def test_where_slurm_wants_an_account_that_is_the_key(pretended):
    pretended(sbatch="echo 'allocation failure: Invalid account or account/partition' >&2; exit 1")
    with pytest.raises(LadderError, match=r"Change `account: null` there"):
        scheduler.require_accepted(described(), "site.yaml", KINDS)


def test_options_that_have_a_key_are_refused_before_snakemake_does(pretended):
    pretended(sbatch="exit 0")
    for option in ("--constraint=fast", "-C fast", "--mem=3000", "--nodes=3"):
        with pytest.raises(LadderError, match=r"can't be among nodes' options.*nodes.cpu.options of site.yaml"):
            scheduler.require_accepted(described(options=[option]), "site.yaml", KINDS)
    scheduler.require_accepted(described(options=["--reservation=us --hint nomultithread"]), "site.yaml", KINDS)


def test_kinds_that_nothing_needs_are_not_asked_about(pretended):
    pretended(sbatch='case "$*" in *--partition=gpu*) echo no >&2; exit 1;; esac')
    scheduler.require_accepted(described(), "site.yaml", ["cpu", "mpi"])
    with pytest.raises(LadderError, match="nodes `gpu`"):
        scheduler.require_accepted(described(), "site.yaml", KINDS)


def test_an_account_of_others_is_named_though_slurm_does_not_mind(pretended):
    pretended(sbatch="exit 0", sacctmgr="echo physics; echo chemistry")
    scheduler.require_accepted(described() | {"account": "physics"}, "site.yaml", KINDS)
    with pytest.raises(LadderError, match=r"`account: biology` of site.yaml.*(physics|chemistry)"):
        scheduler.require_accepted(described() | {"account": "biology"}, "site.yaml", KINDS)


def test_without_slurm_a_sentence_says_where_to_go(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LadderError, match=r"no `sbatch` here: .* login node"):
        scheduler.require_accepted(described(), "site.yaml", KINDS)


def test_a_type_of_gpu_is_asked_for_by_its_name():
    site = described("gpu", gpus=4, model="h100")
    assert scheduler.options_of(site["nodes"]["gpu"], site)["gpus"] == ["--gpus-per-node=h100:4"]
    assert scheduler.options_of(site["nodes"]["cpu"], site)["gpus"] == []


def test_cases_for_gpus_need_what_serves_them(monkeypatch):
    monkeypatch.setattr(scheduler, "is_installed", lambda library: False)
    sizes = {"n": 5, "m": 3, "dtype": "float64", "seed": 1}
    scheduler.require_packages([Case("gemv", "blas", sizes, {"threads": 1})])
    with pytest.raises(LadderError, match=r"CuPy isn't installed: `make setup GPU=1`"):
        scheduler.require_packages([Case("gemv", "cublas", sizes, {})])


def test_a_folder_whose_name_snakemake_would_have_to_quote_is_a_sentence():
    scheduler.require_plain("/home/me/ladder-1.0/.venv/bin/python")
    with pytest.raises(LadderError, match=r"can't start /my clone/.venv/bin/python: .* Move the project"):
        scheduler.require_plain("/my clone/.venv/bin/python")
