"""The measurements of the project's study that an edit invalidates: fingerprints of all cases on a copy of the code."""

import re
import shutil

import pytest

from conftest import ROOT
from ladder.build import binaries
from ladder.catalogue import imports, locations, sources, traits
from ladder.planning import configuration, plan, targets

pytestmark = pytest.mark.xdist_group("test_edits")  # one worker, so that `original_fingerprints` runs once
HOST_DEVICES, GPU_DEVICES = {"host", "mpi"}, {"cuda", "mpi_cuda", "offload"}


@pytest.fixture(scope="module")
def cases():
    """All cases of the project's study."""
    config = configuration.load([ROOT / "config/config.yaml"])
    plan_entries = plan.plan(config, targets.this_machine(config | {"cores": 2, "gpus": 0}))
    return list({item.case.key: item.case for item in plan_entries}.values())


@pytest.fixture(scope="module")
def original_fingerprints(cases):
    """The cases' fingerprints by key, with the unchanged code."""
    sources.clear_caches()
    return fingerprints(cases)


def fingerprints(cases):
    return {case.key: sources.fingerprint(case) for case in cases}


@pytest.fixture
def project_copy(tmp_path, monkeypatch, original_fingerprints):
    """A copy of the package, from which fingerprints are computed."""
    package_copy = shutil.copytree(imports.PACKAGE, tmp_path / "ladder", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(imports, "PACKAGE", package_copy)
    monkeypatch.setattr(locations, "WORKLOADS", package_copy / "workloads")
    sources.clear_caches()
    yield package_copy
    monkeypatch.undo()
    sources.clear_caches()


def edit(path, old, new):
    text = path.read_text()
    assert old in text, f"{old!r} isn't in {path.name}"
    path.write_text(text.replace(old, new, 1))


def invalid_cases(cases, original_fingerprints):
    """The cases whose measurements are now invalid."""
    sources.clear_caches()
    return [case for case in cases if sources.fingerprint(case) != original_fingerprints[case.key]]


# (file, text, its replacement). A `*` collects the arguments in the parameter that follows, whatever its name.
IRRELEVANT_EDITS = [
    ("statistics/verdicts.py", "def compare(", "def compare(unused=0, *"),
    ("build/report.py", '"registers": registers', '"registers": registers + 0'),
    ("build/occupancy.py", "def occupancy(", "def occupancy(unused=0, *"),
    ("machine/description.py", "def describe()", "def describe(unused=0)"),
    ("records/record.py", "def write(", "def write(unused=0, *"),
    ("planning/plan.py", "def skip_reason(", "def skip_reason(unused=0, *"),
    ("catalogue/imports.py", "def reachable_nodes(", "def reachable_nodes(unused=0, *"),
    ("workloads/gemm/paper/__init__.py", '"""', '"""Other words. '),
    ("harness/worker.py", '"""The worker', '"""This is the worker'),
    ("harness/worker.py", "\n\ndef main", "\n\n# A comment.\ndef main"),
    ("harness/steps.py", "\n\ndef ", "\n\ndef unused():\n    pass\n\n\ndef "),
]


@pytest.mark.slow
def test_edits_of_code_that_no_measurement_reaches_invalidate_none(project_copy, cases, original_fingerprints):
    """Edits of verdicts, reports, descriptions, records, plans, fingerprints, chapters, comments, unused functions."""
    for name, old, new in IRRELEVANT_EDITS:
        edit(project_copy / name, old, new)
    assert invalid_cases(cases, original_fingerprints) == []


# {what is edited: (file, text, its replacement, the devices and variants whose measurements become invalid)}.
RELEVANT_EDITS = {
    "the worker": ("harness/worker.py", "gc.disable()", "gc.disable() or None", HOST_DEVICES | GPU_DEVICES),
    "the environment of a worker": (
        "harness/environment.py",
        "**case.variables,",
        '**case.variables, "A": "1",',
        HOST_DEVICES | GPU_DEVICES,
    ),
    "the variables of the host device": (
        "devices/host.py",
        '"OMP_DYNAMIC": "false"',
        '"OMP_DYNAMIC": "true"',
        HOST_DEVICES | GPU_DEVICES,
    ),
    "the comparison of results": (
        "harness/validation.py",
        "def compare(",
        "def compare(unused=0, *",
        HOST_DEVICES | GPU_DEVICES,
    ),
    "when sampling ends": (
        "statistics/intervals.py",
        "def have_converged(",
        "def have_converged(unused=0, *",
        HOST_DEVICES | GPU_DEVICES,
    ),
    "the comparison with ceilings": (
        "harness/plausibility.py",
        "fastest < floor",
        "fastest <= floor",
        HOST_DEVICES | GPU_DEVICES,
    ),
    "the flush of the host, the base of all devices": (
        "machine/caches.py",
        "def flusher(",
        "def flusher(unused=0, *",
        HOST_DEVICES | GPU_DEVICES,
    ),
    "the flush of a GPU": ("devices/gpu.py", "buffer.fill(", "buffer.fill(1 + ", GPU_DEVICES),
    "arrays on a GPU": ("devices/cuda.py", "array.set(", "array.set(0 + ", {"cuda", "cuda_copies", "home", "mpi_home"}),
    "the ranks": ("devices/mpi.py", "world.Barrier()", "world.Barrier() or None", {"mpi", "mpi_cuda"}),
    "which of two devices starts first": (
        "devices/mpi_cuda.py",
        "Gpu.start(self, case)\n        Mpi.start(self, case)",
        "Mpi.start(self, case)\n        Gpu.start(self, case)",
        {"mpi_cuda"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("subject", RELEVANT_EDITS)
def test_an_edit_invalidates_the_measurements_that_reach_it(project_copy, cases, original_fingerprints, subject):
    name, old, new, devices_and_variants = RELEVANT_EDITS[subject]
    edit(project_copy / name, old, new)
    expected = {case.key for case in cases if {traits.device(case), case.variant} & devices_and_variants}
    assert {case.key for case in invalid_cases(cases, original_fingerprints)} == expected


@pytest.mark.slow
def test_the_compiler_concerns_only_cases_that_launch_kernels(project_copy, cases, original_fingerprints):
    """Not those that only call cuBLAS, cuSOLVER, CuPy or PyTorch."""
    edit(project_copy / "build/compiler.py", 'STANDARD = "c++17"', 'STANDARD = "c++20"')
    assert {case.key for case in invalid_cases(cases, original_fingerprints)} == {
        case.key for case in cases if binaries.of_case(case)
    }


@pytest.mark.slow
def test_a_launcher_on_gpus_does_not_concern_the_host(project_copy, cases, original_fingerprints):
    edit(project_copy / "workloads/gemm/launch.py", "BLOCK_OVERHEAD = 64", "BLOCK_OVERHEAD = 65")
    stale = invalid_cases(cases, original_fingerprints)
    launching_variants = {f"cuda_{name}" for name in ("naive", "shared", "tiled", "mma")}
    assert {case.variant for case in stale if case.workload == "gemm"} == launching_variants | {
        *("cuda_columns", "cuda_packed", "cuda_skinny", "cuda_tma", "cuda_wgmma")
    }
    assert {case.tuning["product"] for case in stale if case.workload == "mlp"} == launching_variants
    assert {traits.device(case) for case in stale} == {"cuda", "mpi_cuda", "offload"}


@pytest.mark.slow
def test_a_header_counts_where_it_is_included_and_a_variant_where_it_is_used(
    project_copy, cases, original_fingerprints
):
    edit(
        project_copy / "workloads/include/ptx/async_copy.cuh", "#pragma once", "#pragma once\nconstexpr int UNUSED = 1;"
    )
    edit(project_copy / "workloads/gemm/blas.py", "1.0,", "2.0 / 2,")
    # Those of gemm that include the header, and the edited one; trainings use them as products.
    gemm_variants = {"cuda_columns", "cuda_tiled", "cuda_mma", "cuda_tma", "blas"}
    tconv_variants = {
        f"cuda_{name}"
        for name in ("implicit", "implicit_mma", "implicit_wgmma", "implicit_tma", "window", "window_mma")
    }
    stale = {case.key for case in invalid_cases(cases, original_fingerprints)}
    assert stale == {
        case.key
        for case in cases
        if (case.workload == "gemm" and case.variant in gemm_variants)
        or case.tuning.get("product") in gemm_variants
        or (case.workload == "backprop" and case.variant in ("blas", "cuda_fused"))
        or (case.workload == "tconv" and case.variant in tconv_variants)
        or (case.workload == "mlp" and case.variant in ("cuda_fused", "cuda_fused_mma", "cuda_persistent"))
        or (case.workload == "dcgan" and case.variant in ("cuda", "home", "mpi_home"))
    }


@pytest.mark.slow
def test_a_new_rung_does_not_concern_the_others(project_copy, cases, original_fingerprints):
    """Neither its name in RUNGS nor other constants that are read as text concern other variants."""
    edit(project_copy / "workloads/stream/__init__.py", 'CEILING = "bandwidth"', 'CEILING = "read"')
    edit(project_copy / "workloads/gemm/__init__.py", "RUNGS = {", 'RUNGS = {"mine": "another", ')
    shutil.copy(project_copy / "workloads/gemm/blas.py", project_copy / "workloads/gemm/mine.py")
    assert invalid_cases(cases, original_fingerprints) == []


# (module of the package, its new name).
MOVES = [
    ("harness.validation", "harness.judging"),
    ("harness.worker", "harness.sampling"),
    ("harness.workers", "harness.processes"),
    ("harness.steps", "devices.steps"),
    ("machine.caches", "devices.caches"),
    ("devices.chunked", "harness.large"),
]


@pytest.mark.slow
def test_moving_and_renaming_modules_of_the_harness_invalidates_nothing(
    project_copy, cases, original_fingerprints, monkeypatch
):
    """The modules are moved and their imports rewritten, as by `git mv` and an editor."""
    for old, new in MOVES:
        (old_package, old_name), (new_package, new_name) = old.split("."), new.split(".")
        (project_copy / old_package / f"{old_name}.py").rename(project_copy / new_package / f"{new_name}.py")
        for path in project_copy.rglob("*.py"):
            path.write_text(rewrite_imports(path.read_text(), (old_package, old_name), (new_package, new_name)))
        harness = [re.sub(rf"^ladder\.{old}\b", f"ladder.{new}", root) for root in sources.HARNESS]
        monkeypatch.setattr(sources, "HARNESS", harness)
    assert invalid_cases(cases, original_fingerprints) == []
    assert imports.module_path("ladder.harness.worker") is None


def rewrite_imports(text, old, new):
    """A module's text with imports and uses of a module rewritten that has moved; both as (package, name)."""
    text = re.sub(rf"\bladder\.{old[0]}\.{old[1]}\b", f"ladder.{new[0]}.{new[1]}", text)

    def move_import(line):
        names = [name.strip() for name in line[1].split(",")]
        if old[1] not in names:
            return line[0]
        remaining_names = [name for name in names if name != old[1]]
        remaining = f"from ladder.{old[0]} import {', '.join(remaining_names)}\n" if remaining_names else ""
        return f"{remaining}from ladder.{new[0]} import {new[1]}"

    changed = re.sub(rf"from ladder\.{old[0]} import ([\w, ]+)", move_import, text)
    return re.sub(rf"(?<![\w.\"]){old[1]}\.(?=\w)", f"{new[1]}.", changed) if changed != text else changed
