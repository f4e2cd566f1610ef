"""What the tests of `ladder.workflow` share: plans of small studies, here and on a cluster."""

import os
from pathlib import Path
from types import SimpleNamespace

import yaml

from ladder.planning import targets
from ladder.workflow import study_plan

# A description of a cluster, as `cluster/` has them: its kinds of nodes, with their memory in MB.
NODES = {"partition": "p", "machine": "lab", "cores": 8, "memory": 1000}
CLUSTER = {
    "cpu": NODES,
    "mpi": NODES | {"machine": "lab-mpi", "count": 2, "launcher": "srun"},
    "gpu": NODES | {"machine": "lab-gpu", "gpus": 4, "model": "h100"},
}
ROOT = Path("/project")  # the folder of the project; it needn't exist
SMALL_SIZES = {"form": "nn", "m": 17, "n": 5, "k": 9}


def experiment(variants, workload="gemm", sizes=SMALL_SIZES, **options):
    """An experiment on small products."""
    return {"question": "?", "workload": workload, "sizes": sizes, "cache": "warm", "variants": variants, **options}


def snakemake_workflow(**changes):
    """A stand-in for Snakemake's workflow, with the attributes that the package reads."""
    settings = {
        "modifier": SimpleNamespace(is_main_snakefile=lambda: True),
        "configfiles": [],
        "is_main_process": True,
        "config_settings": SimpleNamespace(config_args=[]),
        "resource_settings": SimpleNamespace(default_resources=None),
        "scheduling_settings": SimpleNamespace(max_jobs_per_timespan="100/1s"),
        "executor_plugin": SimpleNamespace(name="local"),
        "executor_settings": SimpleNamespace(array_jobs=None),
        "local_exec": True,
        "deployment_settings": SimpleNamespace(deployment_method=set()),
        "cores": 2,
        "touch": False,
    }
    return SimpleNamespace(**settings | changes)


def job_wildcards(case, machine="here"):
    """The wildcards of the job that measures a case."""
    return SimpleNamespace(
        machine=machine, workload=case.workload, variant=case.variant, case=case.slug.replace(",", "+")
    )


def read_plan(experiments, nodes=None, **changes):
    """The plan of experiments, {name: experiment}, on two cores of this machine or on nodes of a cluster.

    The working directory must be temporary; the fixture `restored_environment` of `conftest.py` resets the environment.
    """
    config = {"machine": "here", "cores": 2, "gpus": 0, "experiments": experiments} | changes
    resources = SimpleNamespace(default_resources={"on_cluster": 1} if nodes else None)
    if nodes:
        Path("site.yaml").write_text(yaml.safe_dump({"nodes": nodes}), encoding="utf-8")
        os.environ[targets.SITE_VARIABLE] = "site.yaml"
    return study_plan.read(config, snakemake_workflow(resource_settings=resources), ROOT)
