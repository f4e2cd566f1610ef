"""The measurements of the shipped study that an edit invalidates, by all cases' fingerprints on a copy of the code."""

import re
import shutil

import pytest

from conftest import ROOT
from ladder.build import binaries
from ladder.catalogue import imports, sources, workloads
from ladder.planning import configuration, plan, targets

HOST, CARDS = {"host", "mpi"}, {"cuda", "mpi_cuda", "offload"}


@pytest.fixture(scope="module")
def cases():
    """All cases of the shipped study."""
    config = configuration.load([ROOT / "config/config.yaml"])
    planned = plan.plan(config, targets.here(config | {"cores": 2, "gpus": 0}))
    return list({one.case.key: one.case for one in planned}.values())


@pytest.fixture(scope="module")
def before(cases):
    """Their fingerprints by key, with the code as it is."""
    sources.forget()
    return fingerprints(cases)


def fingerprints(cases):
    return {case.key: sources.fingerprint(case) for case in cases}


@pytest.fixture
def tree(tmp_path, monkeypatch, before):
    """A copy of the package, from which fingerprints are computed."""
    home = shutil.copytree(imports.HOME, tmp_path / "ladder", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(imports, "HOME", home)
    monkeypatch.setattr(workloads, "HOME", home / "workloads")
    sources.forget()
    yield home
    monkeypatch.undo()
    sources.forget()


def edit(path, old, new):
    text = path.read_text()
    assert old in text, f"{old!r} isn't in {path.name}"
    path.write_text(text.replace(old, new, 1))


def outdated(cases, before):
    """The cases whose measurements are now invalid."""
    sources.forget()
    return [case for case in cases if sources.fingerprint(case) != before[case.key]]


NO_MEASUREMENT = [
    ("statistics/verdicts.py", "def compare(", "def compare(unused=0, *"),
    ("build/report.py", '"registers": registers', '"registers": registers + 0'),
    ("build/occupancy.py", "def occupancy(", "def occupancy(unused=0, *"),
    ("machine/description.py", "def describe():", "def describe(unused=0):"),
    ("records/record.py", "def write(", "def write(unused=0, *"),
    ("planning/plan.py", "def skip_reason(", "def skip_reason(unused=0, *"),
    ("catalogue/imports.py", "def reachable(", "def reachable(unused=0, *"),
    ("workloads/gemm/paper/__init__.py", '"""', '"""Other words. '),
    ("harness/worker.py", '"""The worker', '"""This is the worker'),
    ("harness/worker.py", "\n\ndef main", "\n\n# A comment.\ndef main"),
    ("harness/steps.py", "\n\ndef ", "\n\ndef unused():\n    pass\n\n\ndef "),
]


@pytest.mark.slow
def test_an_edit_of_what_no_measurement_goes_through_makes_none_old(tree, cases, before):
    """Verdicts, kernels' reports, descriptions, records, plans, fingerprints, chapters, comments, unused functions."""
    for name, old, new in NO_MEASUREMENT:
        edit(tree / name, old, new)
    assert outdated(cases, before) == []


SOME = {
    "the worker": ("harness/worker.py", "gc.disable()", "gc.disable() or None", HOST | CARDS),
    "the environment of a worker": (
        "harness/environment.py",
        "**case.variables,",
        '**case.variables, "A": "1",',
        HOST | CARDS,
    ),
    "the environment of the host's": (
        "devices/host.py",
        '"OMP_DYNAMIC": "false"',
        '"OMP_DYNAMIC": "true"',
        HOST | CARDS,
    ),
    "the comparison of results": ("harness/validation.py", "def compare(", "def compare(unused=0, *", HOST | CARDS),
    "when sampling ends": ("statistics/intervals.py", "def converged(", "def converged(unused=0, *", HOST | CARDS),
    "the ceilings' judgement": ("harness/plausibility.py", "fastest < floor", "fastest <= floor", HOST | CARDS),
    "the flush of the host, the base of all devices": (
        "machine/caches.py",
        "def flusher(",
        "def flusher(unused=0, *",
        HOST | CARDS,
    ),
    "the flush of a card": ("devices/gpu.py", "buffer.fill(", "buffer.fill(1 + ", CARDS),
    "arrays on a card": ("devices/cuda.py", "array.set(", "array.set(0 + ", {"cuda", "home", "mpi_home"}),
    "the ranks": ("devices/mpi.py", "world.Barrier()", "world.Barrier() or None", {"mpi", "mpi_cuda"}),
    "which of two devices starts first": (
        "devices/mpi_cuda.py",
        "Gpu.start(self, case)\n        Mpi.start(self, case)",
        "Mpi.start(self, case)\n        Gpu.start(self, case)",
        {"mpi_cuda"},
    ),
}


FIRST = "the flush of a card"  # `make test-slow` has the others


@pytest.mark.parametrize(
    "what", [name if name == FIRST else pytest.param(name, marks=pytest.mark.slow) for name in SOME]
)
def test_an_edit_of_what_measurements_go_through_makes_all_of_its_devices_old(tree, cases, before, what):
    name, old, new, devices = SOME[what]
    edit(tree / name, old, new)
    # Or a variant, where not all of its device go through it.
    due = {case.key for case in cases if {workloads.device(case), case.variant} & devices}
    assert {case.key for case in outdated(cases, before)} == due


@pytest.mark.slow
def test_how_kernels_are_compiled_concerns_the_cases_that_launch_some(tree, cases, before):
    """Not those that only call cuBLAS, cuSOLVER, CuPy or PyTorch."""
    edit(tree / "build/compiler.py", 'STANDARD = "c++17"', 'STANDARD = "c++20"')
    assert {case.key for case in outdated(cases, before)} == {case.key for case in cases if binaries.kernels(case)}


@pytest.mark.slow
def test_a_launcher_on_cards_leaves_the_host_alone(tree, cases, before):
    edit(tree / "workloads/gemm/launch.py", "BLOCK_OVERHEAD = 64", "BLOCK_OVERHEAD = 65")
    old = outdated(cases, before)
    own = {f"cuda_{name}" for name in ("naive", "shared", "tiled", "mma")}
    assert {case.variant for case in old if case.workload == "gemm"} == own | {"cuda_columns"}
    assert {case.tuning["product"] for case in old if case.workload == "mlp"} == own
    assert {workloads.device(case) for case in old} == {"cuda"}


@pytest.mark.slow
def test_a_header_counts_where_it_is_included_and_a_variant_where_it_is_used(tree, cases, before):
    edit(tree / "workloads/include/ptx/async_copy.cuh", "#pragma once", "#pragma once\nconstexpr int UNUSED = 1;")
    edit(tree / "workloads/gemm/blas.py", "1.0,", "2.0 / 2,")
    used = {"cuda_columns", "cuda_tiled", "cuda_mma", "blas"}
    layers = {
        f"cuda_{name}"
        for name in ("implicit", "implicit_mma", "implicit_wgmma", "implicit_tma", "window", "window_mma")
    }
    old = {case.key for case in outdated(cases, before)}
    assert old == {
        case.key
        for case in cases
        if (case.workload == "gemm" and case.variant in used)
        or case.tuning.get("product") in used
        or (case.workload == "backprop" and case.variant in ("blas", "cuda_fused"))
        or (case.workload == "tconv" and case.variant in layers)
        or (case.workload == "dcgan" and case.variant in ("cuda", "home", "mpi_home"))
    }


@pytest.mark.slow
def test_a_new_rung_leaves_the_others_alone(tree, cases, before):
    """Its name in RUNGS and in the configuration concerns no other, nor do other words that are read as text."""
    edit(tree / "workloads/stream/__init__.py", 'CEILING = "bandwidth"', 'CEILING = "read"')
    edit(tree / "workloads/gemm/__init__.py", "RUNGS = {", 'RUNGS = {"mine": "another", ')
    shutil.copy(tree / "workloads/gemm/blas.py", tree / "workloads/gemm/mine.py")
    assert outdated(cases, before) == []


MOVES = [
    ("harness.validation", "harness.judging"),
    ("harness.worker", "harness.sampling"),
    ("harness.workers", "harness.processes"),
    ("harness.steps", "devices.steps"),
    ("machine.caches", "devices.caches"),
    ("devices.chunked", "harness.large"),
]


@pytest.mark.slow
def test_moving_and_renaming_modules_of_the_harness_makes_nothing_old(tree, cases, before, monkeypatch):
    """They are moved and the imports are rewritten, as `git mv` and an editor would."""
    for old, new in MOVES:
        (old_package, old_name), (new_package, new_name) = old.split("."), new.split(".")
        (tree / old_package / f"{old_name}.py").rename(tree / new_package / f"{new_name}.py")
        for path in tree.rglob("*.py"):
            path.write_text(moved(path.read_text(), (old_package, old_name), (new_package, new_name)))
        harness = [re.sub(rf"^ladder\.{old}\b", f"ladder.{new}", root) for root in sources.HARNESS]
        monkeypatch.setattr(sources, "HARNESS", harness)
    assert outdated(cases, before) == []
    assert imports.module_path("ladder.harness.worker") is None


def moved(text, old, new):
    """A module's text in which another has moved."""
    text = re.sub(rf"\bladder\.{old[0]}\.{old[1]}\b", f"ladder.{new[0]}.{new[1]}", text)

    def split(line):
        names = [name.strip() for name in line[1].split(",")]
        if old[1] not in names:
            return line[0]
        rest = [name for name in names if name != old[1]]
        kept = f"from ladder.{old[0]} import {', '.join(rest)}\n" if rest else ""
        return f"{kept}from ladder.{new[0]} import {new[1]}"

    changed = re.sub(rf"from ladder\.{old[0]} import ([\w, ]+)", split, text)
    return re.sub(rf"(?<![\w.\"]){old[1]}\.(?=\w)", f"{new[1]}.", changed) if changed != text else changed
