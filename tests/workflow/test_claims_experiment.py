"""The experiment that decides the claims: its campaign, its blocks, and the resources of its jobs.

A block holds the cases of experiments that share cases; a job measures all of them in turns.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from conftest import ROOT
from ladder.machine import identity
from ladder.planning import plan
from ladder.records import campaigns
from ladder.workflow import invocation
from ladder.workflow.builds import Builds
from ladder.workflow.claims import Claims
from ladder.workflow.resources import BlockResources
from small_plans import CLUSTER, SMALL_SIZES, experiment, read_plan

BLAS, OPENMP, RANKS = (
    {"blas": {"threads": 1}},
    {"openmp": {"threads": 1}},
    {"mpi_openmp": {"ranks": 2, "mode": "ship", "threads": 1}},
)
EXPERIMENTS = {
    "first": experiment(BLAS | OPENMP),
    "second": experiment(OPENMP | {"interchanged": {"threads": 1}}),
    "apart": experiment(BLAS, sizes=SMALL_SIZES | {"m": 5}),
    "ranks": experiment(RANKS | BLAS, "gemv", {"n": 7, "m": 5}),
    "too many threads": experiment({"blas": {"threads": 64}}),
}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty working directory, and a commit that is known without git."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LADDER_COMMIT", "0" * 40)


def claims_of(experiments=EXPERIMENTS, nodes=None, **changes):
    """The Claims with these experiments, beside those of a study; `changes` are to the study's configuration."""
    experiments_of_claims = {name.replace(" ", "_"): value for name, value in experiments.items()}
    text = yaml.safe_dump({"protocol": {"processes": 2}, "experiments": experiments_of_claims}, sort_keys=False)
    Path("claims.yaml").write_text(text, encoding="utf-8")
    study = read_plan({"study": experiment(BLAS)}, nodes, claims=["claims.yaml"], **changes)
    return Claims(study, Builds(study))


def job(block, campaign="here_1"):
    """The wildcards of the job that measures a block."""
    return SimpleNamespace(block=block, campaign=campaign)


def test_experiments_that_share_cases_are_one_block():
    claims = claims_of()
    assert set(claims.blocks) == {"first", "apart", "ranks"}
    variants = [key.split("/")[1] for key in claims.keys(job("first"))]
    assert variants == ["blas", "openmp", "interchanged"]


def test_the_protocol_of_the_claims_is_their_own():
    assert json.loads(claims_of().protocol(job("first")))["processes"] == 2


def test_experiments_that_share_cases_need_the_same_protocol(capsys):
    other = EXPERIMENTS | {"second": experiment({"interchanged": {"threads": 1}}, protocol={"samples": 3})}
    assert set(claims_of(other).blocks) == {"first", "second", "apart", "ranks"}
    with pytest.raises(SystemExit, match="under protocols that differ in samples"):
        claims_of(EXPERIMENTS | {"second": EXPERIMENTS["second"] | {"protocol": {"samples": 3}}}).plan  # noqa: B018


def test_an_unknown_block_is_refused_with_those_that_exist():
    with pytest.raises(SystemExit, match=r"no block thrid\. They have: first, apart, ranks"):
        claims_of().items(job("thrid"))


def test_a_campaign_ends_with_its_publication_and_another_begins(monkeypatch):
    claims = claims_of()
    (note,) = claims.publication_notes
    assert note == f"results/campaigns/{claims.campaign}/published.json"
    campaigns.begin(claims.campaign, claims.campaign_identity)
    assert claims_of().campaign == claims.campaign
    monkeypatch.setattr(campaigns, "is_published", lambda name: True)
    monkeypatch.setattr(campaigns, "new_name", lambda identity: "another")
    assert claims_of().campaign != claims.campaign


def test_a_campaign_is_of_one_commit_host_and_set_of_gpus(monkeypatch):
    claims = claims_of()
    campaigns.begin(claims.campaign, claims.campaign_identity)
    monkeypatch.setenv("LADDER_COMMIT", "1" * 40)
    assert claims_of().campaign != claims.campaign
    monkeypatch.setenv("LADDER_COMMIT", "0" * 40)
    monkeypatch.setattr(identity, "host_digest", lambda: "another")
    assert claims_of().campaign != claims.campaign


def test_without_cases_nothing_is_measured():
    claims = claims_of({})
    assert (claims.blocks, claims.publication_notes) == ({}, [])


def test_nothing_runs_beside_a_block():
    claims = claims_of()
    resources = BlockResources(claims.study, claims)
    values = {
        name: value(job("ranks")) if callable(value) else value for name, value in resources.measuring_resources.items()
    }
    assert "mpiexec" in values.pop("mpi")
    assert values == {"timing": 1, "card": 0}  # timed alone, on no GPU
    assert resources.threads(job("first")) == resources.threads(job("ranks")) == 2  # all cores


@pytest.mark.parametrize(
    ("variants", "timing", "card", "threads"), [({"cublas": {}}, 0, 2, 1), ({"cublas": {}} | BLAS, 1, 0, 2)]
)
def test_blocks_on_gpus_alone_may_run_side_by_side(monkeypatch, variants, timing, card, threads):
    monkeypatch.setattr(plan, "is_installed", lambda library: True)
    claims = claims_of({"gpus": experiment(variants, protocol={"side_by_side": True})}, gpus=2)
    resources = BlockResources(claims.study, claims)
    requested = [resources.measuring_resources[name](job("gpus")) for name in ("timing", "card")]
    assert ([timing, card], threads) == (requested, resources.threads(job("gpus")))


def test_on_a_cluster_the_kinds_of_nodes_have_blocks_of_their_own():
    ranks = {"mpi_openmp": {"ranks": 3, "mode": "ship", "threads": 2}}
    claims = claims_of({"both": experiment(BLAS | ranks, "gemv", {"n": 7, "m": 5})}, CLUSTER)
    assert {name: claims.machine(job(name)) for name in claims.blocks} == {"both-lab": "lab", "both-lab-mpi": "lab-mpi"}
    resources = BlockResources(claims.study, claims)
    assert [resources.measuring_resources["tasks"](job(name)) for name in ("both-lab", "both-lab-mpi")] == [1, 3]
    assert resources.measuring_resources["mpi"](job("both-lab-mpi")) == "srun"


@pytest.mark.parametrize(
    ("name", "variants", "sentence"),
    [
        ("stdy", BLAS, r"The experiment 'stdy' of the claims \(claims\.yaml\) is not in .*Did you mean 'study'"),
        ("other", BLAS, "The experiment 'other' of the claims"),
        ("study", {"blsa": {}}, "The experiment 'study' can't be planned: .*blsa.*'blas'"),
    ],
)
def test_planning_refuses_claims_with_a_wrong_name(name, variants, sentence):
    with pytest.raises(SystemExit, match=sentence):
        invocation.require_claims(claims_of({name: experiment(variants)}), ["study"])


def test_planning_refuses_a_missing_file_of_claims():
    claims = claims_of({"study": experiment(BLAS)})
    Path("claims.yaml").unlink()
    with pytest.raises(SystemExit, match=r"The configuration .*claims\.yaml can't be read: No such file"):
        invocation.require_claims(claims, ["study"])


def test_the_shipped_claims_have_experiments_of_the_shipped_configuration():
    """Planning takes this for granted, because it would take half a second."""
    study, claims = (yaml.safe_load((ROOT / "config" / name).read_text()) for name in ("config.yaml", "claims.yaml"))
    assert {*claims["experiments"]} <= {*study["experiments"]}
