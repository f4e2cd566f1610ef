"""Fixtures of several tests: a small study in a temporary folder, isolated locks and environments, simulated GPUs."""

import copy
import functools
import gc
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ladder.catalogue import cache
from ladder.data import digits
from ladder.machine import nvidia
from ladder.planning import yaml_files
from ladder.records import locks, record
from stand_in_nvml import pynvml as stand_in

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PRIVATE_LOCKS = TESTS / "private_locks"
# The protocol of measurements in tests: one process, which takes two or three samples (config/README.md has the keys).
PROTOCOL = {"processes": 1, "most_processes": 1, "samples": 2, "least": 2, "most": 3, "cap": 0.1, "phase_passes": 1}
# The values of a protocol that a worker receives: here it takes one sample.
JOB_PROTOCOL = {"seconds": 0.1, "samples": 1, "least": 1, "most": 1, "target": 1.0, "phase_passes": 1}
JOB_PROTOCOL |= {"energy": False, "cold_start": True}

# A shell's background ignores Ctrl-C, and processes inherit that: tests of it need the usual handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What `ladder` prints is as wide as these variables say. pytest's workers inherit COLUMNS=80, which readline sets.
for variable in ("COLUMNS", "LINES"):
    os.environ.pop(variable, None)

# Tests call variants with `threads=2`; Numba must then have two, as in a job of the harness, not one per core.
os.environ["NUMBA_NUM_THREADS"] = "2"

# Threads that wait must not spin: there are more of them than cores, since one test process per core runs, each of
# whose runtimes has threads. Workers of the harness don't inherit these variables.
os.environ["OMP_WAIT_POLICY"] = "passive"
os.environ["OPENBLAS_THREAD_TIMEOUT"] = "4"  # wait 2^4 cycles, not 2^26

# Images of containers set this; hundreds of processes would then compile the same modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Marks of tests that share the one Slurm cluster or GPU of the machine: they run in one process, one after the other.
SERIAL_MARKS = ("cluster", "gpu")


@functools.cache
def has_gpu():
    return bool(nvidia.gpus())


def pytest_pycollect_makeitem(collector, name, obj):
    """Without a GPU, collect each test that requires one without its parameters: thousands would only be skipped."""
    is_test = inspect.isfunction(obj) and collector.funcnamefilter(name)
    if is_test and not has_gpu() and any(mark.name == "gpu" for mark in getattr(obj, "pytestmark", ())):
        return pytest.Function.from_parent(collector, name=name)
    return None


def is_long(item):
    """Whether a test may take long. Such tests start first, because a long one at the end would leave cores idle."""
    is_workload_test = item.path.is_relative_to(TESTS / "workloads")
    return is_workload_test or item.path.stem == "test_tutorial" or item.get_closest_marker("cluster") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Skip the tests marked `gpu` without a GPU, group those that share the cluster or the GPU, put long ones first.

    The short tests of a file, and those of chapters, run in one process, so that what they share is made once.
    """
    items.sort(key=lambda item: not is_long(item))
    for item in items:
        for name in SERIAL_MARKS:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.xdist_group(name))
        if item.get_closest_marker("exhaustive"):
            item.add_marker("slow")
        if not item.get_closest_marker("xdist_group") and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.xdist_group("chapters" if "chapter" in item.path.stem else item.path.stem))
        if item.get_closest_marker("gpu") and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="requires an NVIDIA GPU"))


# The garbage collector takes half a second for the modules and tests of a process, which live until its end. So it is
# off while tests are collected, and later skips what existed then and what finished files left behind, such as caches.
@pytest.hookimpl(wrapper=True)
def pytest_collection():
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def disable_code_cache():
    """Don't cache fingerprints of code: tests replace the functions that compute them, which the cache wouldn't see."""
    cache.FOLDER = Path("no-study/cache/code")  # nothing is cached in a folder whose parent doesn't exist


@pytest.fixture(autouse=True, scope="session")
def private_locks(tmp_path_factory):
    """Give these tests, and processes that they start, locks of their own: see `private_locks/sitecustomize.py`."""
    folder = tmp_path_factory.mktemp("locks")
    locks.FOLDERS = (folder,)
    os.environ["LADDER_TESTS_LOCKS"] = str(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PRIVATE_LOCKS), os.environ.get("PYTHONPATH")]))


@pytest.fixture(autouse=True)
def restored_environment():
    """Restore the environment after each test, which a test, or a verb that it runs, may change."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def digits_folder(tmp_path_factory):
    """A folder `digits` with scikit-learn's digits in the files of MNIST, for tests that only read them."""
    folder = tmp_path_factory.mktemp("data") / "digits"
    digits.write(folder)
    return folder


@pytest.fixture(scope="session")
def inductor_folder(tmp_path_factory):
    """The cache of Inductor, PyTorch's compiler."""
    return tmp_path_factory.mktemp("inductor")


@pytest.fixture
def torch_compiler(monkeypatch, inductor_folder):
    """`torch.compiler` with nothing compiled yet: after a few shapes, PyTorch would no longer recompile a function."""
    import torch

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(inductor_folder))
    torch.compiler.reset()
    return torch.compiler


class Study:
    """A copy of the project with a configuration that drops the project's experiments, so that a test adds its own.

    The folder's name has characters that a shell must quote, so that tests detect missing quotation marks. The folder
    has a link to the Python environment.
    """

    def __init__(self, folder, name="it's mine & yours"):
        self.folder = Path(folder) / name
        for path in ("Snakefile", "workflow", "config", "profiles", "paper", "src", "tests/variants"):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, self.folder / path, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / path, self.folder / path)
        (self.folder / ".venv").symlink_to(sys.prefix)
        project_experiments = yaml_files.read(ROOT / "config/config.yaml")["experiments"]
        self.config = {
            "machine": "here",
            "cores": 2,
            "protocol": PROTOCOL,
            "sensitivity": "first",  # the sensitivity of checks is measured in the first dtype of each workload
            "variant_folders": ["tests/variants"],
            "experiments": dict.fromkeys(project_experiments),
        }

    def copy(self, folder):
        """A copy of this study in another folder; files keep their times, which Snakemake compares."""
        other = copy.copy(self)
        other.folder, other.config = Path(folder) / self.folder.name, copy.deepcopy(self.config)
        shutil.copytree(self.folder, other.folder, symlinks=True)
        return other

    def add(self, name, variants, sizes=None, workload="gemm"):
        """Add an experiment; by default on small products, two for each variant (k = 1 and 9)."""
        sizes = sizes or {"form": "nn", "m": 17, "n": 5, "k": [1, 9]}
        experiment = {"question": "?", "workload": workload, "sizes": sizes, "cache": "warm", "variants": variants}
        self.config["experiments"][name] = experiment
        return self

    def add_training(self):
        """Add a small training as `mlp_accuracy`, the experiment whose figures need no other experiment."""
        sizes = {"layers": "784-7-10", "images": 40, "batch": 20, "epochs": 1, "rate": 0.5, "dtype": "float64"}
        variants = {"host": {"product": "blas", "threads": 1}}
        return self.add("mlp_accuracy", variants, sizes | {"source": "digits"}, "mlp")

    def command(self, *arguments):
        """The command line of Snakemake on this study, and its environment."""
        (self.folder / "study.yaml").write_text(yaml.safe_dump(self.config))
        python = self.folder / ".venv/bin" / Path(sys.executable).name
        line = [python, "-m", "snakemake", *arguments, "--configfile", "study.yaml"]
        path = os.pathsep.join(filter(None, [str(self.folder / "src"), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "LADDER_TESTS_LOCKS": str(self.folder)}
        return line, environment

    def snakemake(self, *arguments):
        """Run Snakemake; returns its output and its exit status."""
        line, environment = self.command(*arguments)
        result = subprocess.run(line, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600)
        return result.stdout + result.stderr, result.returncode

    def pending_files(self, *targets):
        """The files that Snakemake would make or update."""
        line, environment = self.command("--summary", *targets)
        result = subprocess.run(line, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600)
        assert result.returncode == 0, result.stderr
        rows = [row.split("\t") for row in result.stdout.splitlines()]
        return {row[0] for row in rows if row[-1] == "update pending"}

    def records(self):
        """The study's records as {case: path}."""
        root = self.folder / "results/records/here"
        paths = sorted(root.rglob("*.json"))
        return {record.restore_commas(str(path.relative_to(root).with_suffix(""))): path for path in paths}


@pytest.fixture
def study(tmp_path):
    """An empty study in a temporary folder."""
    return Study(tmp_path)


@pytest.fixture
def fake_gpus(monkeypatch):
    """A function that simulates GPUs, here and in child processes, by a stand-in for NVML: `stand_in_nvml/pynvml.py`.

    Its arguments are the number of GPUs, and what NVML reports of each of them.
    """

    def simulate(count, **state):
        monkeypatch.setitem(sys.modules, "pynvml", stand_in)
        monkeypatch.setenv("PYTHONPATH", str(TESTS / "stand_in_nvml"), prepend=os.pathsep)
        monkeypatch.setenv("LADDER_FAKE_GPUS", str(count))
        monkeypatch.setenv("LADDER_FAKE_GPU_STATE", json.dumps(state))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        nvidia.library.cache_clear()

    yield simulate
    nvidia.library.cache_clear()
