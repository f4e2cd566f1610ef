"""The fixtures of this folder: a Slurm, and a study that runs in it."""

import shutil

import pytest
import yaml

from cluster import slurm as virtual_slurm
from conftest import ROOT, Study
from ladder.planning.targets import SITE_VARIABLE

# A job takes `memory` of the 4000 MB of a virtual node, so that a node has room for one job.
NODES = {"partition": "cpu", "machine": "cluster-cpu", "cores": 2, "memory": 3000, "minutes": 10}


# Of the package, not the session: Slurm ends with the last of these tests, and disturbs no other.
@pytest.fixture(scope="package")
def slurm():
    """A Slurm of four virtual nodes; only one runs on a machine at a time."""
    try:
        with virtual_slurm.run_slurm() as running_slurm:
            yield running_slurm
    except virtual_slurm.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def describe_cluster(tmp_path, monkeypatch):
    """A function that describes the virtual cluster in a file and names it by LADDER_SITE; it returns the file."""

    def write(prelude="", **kinds):
        shipped = yaml.safe_load((ROOT / "cluster/site.yaml").read_text())
        description = {"prelude": f"{shipped['prelude']}\n{prelude}", "nodes": {"cpu": NODES} | kinds}
        path = tmp_path / "site.yaml"
        path.write_text(yaml.safe_dump(description))
        monkeypatch.setenv(SITE_VARIABLE, str(path))
        return path

    return write


@pytest.fixture
def project(tmp_path):
    """A copy of the project that can run on a cluster, with a configuration without experiments."""
    study = Study(tmp_path, "project")
    shutil.copytree(ROOT / "cluster", study.folder / "cluster")
    return study
