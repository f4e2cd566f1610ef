"""The tests' Slurm, a real one of virtual nodes, places, refuses and ends jobs; a machine has only one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import slurm as virtual_slurm
from ladder.errors import LadderError

pytestmark = pytest.mark.cluster
SCRIPT = Path(virtual_slurm.__file__)


def test_all_nodes_are_idle(slurm):
    # A node is `completing` for a moment after a job.
    idle = {"c1": "idle", "c2": "idle", "g1": "idle", "g2": "idle"}
    virtual_slurm.wait_for(lambda: virtual_slurm.node_states() == idle, "all nodes to be idle")


@pytest.mark.parametrize(("partition", "nodes"), virtual_slurm.PARTITIONS.items())
def test_job_runs_in_its_partition(slurm, partition, nodes):
    number = slurm.submit("-p", partition, "-J", "two words", "--mem=100", "--wrap", "echo on $SLURMD_NODENAME")
    job = slurm.wait_until_ended(number)
    assert (job.name, job.partition, job.state, job.processors) == ("two words", partition, "COMPLETED", 1)
    assert job.nodes[0] in nodes
    assert slurm.output_of(number) == f"on {job.nodes[0]}\n"
    assert job.started <= job.ended


def test_failure_is_reported(slurm):
    assert slurm.wait_until_ended(slurm.submit("--wrap", "exit 3")).state == "FAILED"


def test_job_without_a_partition_is_for_cpus(slurm):
    assert slurm.wait_until_ended(slurm.submit("--wrap", "true")).partition == "cpu"


def test_each_gpu_is_given_to_one_job(slurm):
    options = ["-p", "gpu", "--gpus=1", "-c", "1", "--mem=100", "--wrap", "echo $CUDA_VISIBLE_DEVICES; sleep 2"]
    jobs = [slurm.wait_until_ended(number) for number in [slurm.submit(*options), slurm.submit(*options)]]
    assert sorted(job.nodes for job in jobs) == [["g1"], ["g2"]]
    assert [slurm.output_of(job.id) for job in jobs] == ["0\n", "0\n"]


def test_node_without_a_gpu_gives_none(slurm):
    with pytest.raises(LadderError, match="Requested node configuration is not available"):
        slurm.submit("-p", "cpu", "--gres=gpu:1", "--wrap", "true")


def test_unknown_partition_is_refused(slurm):
    with pytest.raises(LadderError, match="invalid partition"):
        slurm.submit("-p", "cpus", "--wrap", "true")


def test_time_limit_is_kept(slurm):
    number = slurm.submit("-t", "1", "--wrap", "sleep 600")
    slurm.wait_until_running(number)
    # No limit is below a minute, but the minute may be cut.
    virtual_slurm.output("scontrol", "update", f"JobId={number}", "EndTime=now+1")
    assert slurm.wait_until_ended(number).state == "TIMEOUT"


def test_job_is_cancelled(slurm):
    number = slurm.submit("--wrap", "sleep 600")
    slurm.wait_until_running(number)
    slurm.cancel(number)
    assert slurm.wait_until_ended(number).state == "CANCELLED"


def test_job_that_never_ran_has_no_nodes(slurm):
    number = slurm.submit("--hold", "--wrap", "true")
    slurm.cancel(number)
    assert slurm.wait_until_ended(number).nodes == []


def test_job_on_a_node_that_fails_fails_too(slurm):
    number = slurm.submit("-w", "c2", "--no-requeue", "--wrap", "sleep 600")
    slurm.wait_until_running(number)
    slurm.take_down("c2")
    virtual_slurm.wait_for(lambda: virtual_slurm.node_states()["c2"] == "down", "the node c2 to be down")
    assert slurm.wait_until_ended(number).state == "NODE_FAIL"
    slurm.bring_up("c2")
    assert slurm.wait_until_ended(slurm.submit("-w", "c2", "--wrap", "true")).state == "COMPLETED"


def test_a_second_slurm_is_refused(slurm):
    result = subprocess.run([sys.executable, SCRIPT, "start"], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "Another Slurm for tests runs on this machine" in result.stderr
    assert slurm.wait_until_ended(slurm.submit("--wrap", "true")).state == "COMPLETED"


def test_nodes_are_listed():
    assert virtual_slurm.expand_nodes("c[1-2],g1") == ["c1", "c2", "g1"]
    assert virtual_slurm.expand_nodes("c[1,3-4]") == ["c1", "c3", "c4"]
    assert virtual_slurm.expand_nodes("(null)") == []


def test_only_root_may_start_a_slurm(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(virtual_slurm.Unavailable, match="Only root"), virtual_slurm.run_slurm():
        pass


@pytest.mark.parametrize("name", ["CONFIGURATION", "GRES"])
def test_configuration_of_another_slurm_is_left_alone(name, tmp_path, monkeypatch):
    other_configuration = tmp_path / "theirs.conf"
    other_configuration.write_text("ClusterName=real\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(virtual_slurm, "GRES", tmp_path / "gres.conf")
    monkeypatch.setattr(virtual_slurm, "CONFIGURATION", tmp_path / "slurm.conf")
    monkeypatch.setattr(virtual_slurm, name, other_configuration)
    with pytest.raises(virtual_slurm.Unavailable, match=r"theirs\.conf was not written"), virtual_slurm.run_slurm():
        pass
    virtual_slurm.stop()
    assert other_configuration.read_text() == "ClusterName=real\n"


def test_packages_that_cannot_be_installed_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(virtual_slurm, "CONFIGURATION", tmp_path / "slurm.conf")
    monkeypatch.setattr(virtual_slurm, "GRES", tmp_path / "gres.conf")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(virtual_slurm.Unavailable, match="munge, slurm-client, slurmctld, slurmd"):
        virtual_slurm.install_requirements()
    tool = tmp_path / "apt-get"
    tool.write_text("#!/bin/sh\necho no network >&2; exit 100\n")
    tool.chmod(0o755)
    with pytest.raises(virtual_slurm.Unavailable, match="no network"):
        virtual_slurm.install_requirements()
