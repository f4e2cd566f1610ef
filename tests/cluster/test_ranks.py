"""Ranks under `srun`, with the MPI variables of `cluster/site.yaml`: they start and end together."""

import json
import shlex
import sys

import pytest
import yaml

from conftest import PRIVATE_LOCKS, PROTOCOL, ROOT
from ladder.catalogue import workloads
from ladder.records.case import Case

pytestmark = pytest.mark.cluster
SITE = yaml.safe_load((ROOT / "cluster/site.yaml").read_text())
LAUNCHER = SITE["nodes"]["mpi"]["launcher"]
ON_TWO_NODES = ["-N", "2", "-n", "2", "--ntasks-per-node=1", "--exclusive"]
# With a message, MPICH may send the memory behind it. Here that has random bytes, so that no compression makes the
# message shorter.
PROGRAM = """
import os
blocks = [os.urandom(size) for size in range(100, 5000, 8) for _ in range(9)]
del blocks[::2]
from mpi4py import MPI
print(*MPI.COMM_WORLD.allgather(os.environ["SLURMD_NODENAME"]))
"""


def run_on_two_nodes(slurm, command):
    """The job that has run a command on two nodes, after the site's prelude."""
    script = f"{SITE['prelude']}\n{shlex.join(map(str, command))}"
    return slurm.wait_until_ended(slurm.submit(*ON_TWO_NODES, "--wrap", script))


def test_ranks_run_on_two_nodes(slurm, tmp_path):
    program = tmp_path / "ranks.py"
    program.write_text(PROGRAM)
    job = run_on_two_nodes(slurm, [*shlex.split(LAUNCHER), "-n", "2", sys.executable, program])
    assert slurm.output_of(job.id) == "c1 c2\nc1 c2\n"
    assert (job.state, job.nodes) == ("COMPLETED", ["c1", "c2"])


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("raises", "The variant stopped with ValueError: something is wrong here"),
        ("os_exit", "The measuring process "),
        ("sys_exit", "The variant stopped with SystemExit"),
        ("killed", "The measuring process "),
    ],
)
def test_a_rank_that_fails_on_another_node_ends_its_job_with_a_sentence(slurm, tmp_path, fault, sentence):
    sizes = workloads.complete("gemm", {"m": 17, "n": 5, "k": 9})
    case = Case("gemm", "on_ranks", sizes, {"ranks": 2, "threads": 1, "fault": fault}, "warm")
    variables = {"LADDER_VARIANTS": ROOT / "tests/variants", "LADDER_TESTS_LOCKS": tmp_path}
    variables |= {"PYTHONPATH": f"{ROOT / 'src'}:{PRIVATE_LOCKS}"}
    command = ["env", *(f"{name}={value}" for name, value in variables.items()), sys.executable, "-m", "ladder"]
    command += ["measure", case.workload, case.variant, case.slug, "--out", tmp_path / "record.json"]
    job = run_on_two_nodes(slurm, [*command, "--launcher", LAUNCHER, "--protocol", json.dumps(PROTOCOL)])
    assert job.state == "FAILED"
    assert f"ladder measure: {sentence}" in slurm.output_of(job.id)
    assert not (tmp_path / "record.json").exists()
