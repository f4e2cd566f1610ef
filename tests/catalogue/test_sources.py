"""A measurement depends on the code that it runs, and on no other code."""

import ast

import pytest

from ladder.catalogue import imports, literals, locations, sources, syntax, workloads
from ladder.errors import LadderError
from ladder.records.case import Case

GEMM_SIZES = workloads.complete("gemm", {"m": 1, "n": 1, "k": 1})
MLP_SIZES = workloads.complete("mlp", {"images": 1, "batch": 1, "epochs": 1, "rate": 1.0})


@pytest.fixture(autouse=True)
def clear_caches():
    """The caches of code are empty before and after every test."""
    sources.clear_caches()
    yield
    sources.clear_caches()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's folder with variants of gemm."""
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path))
    (tmp_path / "gemm").mkdir()
    return tmp_path / "gemm"


def code_files(case):
    """The files of a case's code, below the workloads' folder."""
    return {str(path.relative_to(locations.WORKLOADS)) for path in sources.code_paths(case)}


def test_a_variant_depends_on_what_it_imports():
    assert code_files(Case("gemm", "blas", GEMM_SIZES, {})) == {"gemm/__init__.py", "gemm/blas.py"}
    shared_files = {"gemm/__init__.py", "gemm/launch.py", "gemm/operands.cuh"}
    assert code_files(Case("gemm", "cuda_naive", GEMM_SIZES, {})) == shared_files | {
        "gemm/cuda_naive.py",
        "gemm/cuda_naive.cu",
    }
    mma_files = {"gemm/cuda_mma.py", "gemm/cuda_mma.cu", "gemm/split_k.cuh", "include/vector.cuh"}
    # Headers in include/ptx include each other as "ptx/...".
    instructions = ("arithmetic", "async_copy", "cluster", "mma", "math", "shared_address")
    mma_files |= {f"include/ptx/{name}.cuh" for name in instructions}
    assert code_files(Case("gemm", "cuda_mma", GEMM_SIZES, {})) == shared_files | mma_files
    workload_files = {"mlp/__init__.py", "mlp/reference.py"}
    assert code_files(Case("mlp", "numpy_loop", MLP_SIZES, {})) == workload_files | {"mlp/numpy_loop.py"}
    # One variant imports another; a helper imports another helper.
    assert code_files(Case("mlp", "pytorch_cuda", MLP_SIZES, {})) == workload_files | {
        "mlp/pytorch_cuda.py",
        "mlp/pytorch.py",
    }
    modules = {f"mlp/{name}.py" for name in ("host", "products", "blas_threads", "elementwise", "exponential")}
    assert code_files(Case("mlp", "host", MLP_SIZES, {"product": "c_openmp"})) == workload_files | modules | {
        "gemm/c_openmp.py",
        "gemm/c_openmp.c",
    }


@pytest.mark.parametrize(
    ("line", "modules"),
    [
        ("import ladder.workloads.gemm.helper", {"helper"}),
        ("import ladder.workloads.gemm.helper as h\nf = h.thing", {"helper"}),
        ("from ladder.workloads.gemm import helper as h", {"helper"}),
        ("from ladder.workloads.gemm.helper import thing", {"helper"}),
        ("from . import helper, other", {"helper", "other"}),
        ("from .helper import thing", {"helper"}),
        ("from .helper import *", {"helper"}),
        ("from ..gemm.helper import thing", {"helper"}),
        ("def setup():\n    from ladder.workloads.gemm import helper", {"helper"}),
        ("def setup():\n    import ladder.workloads.gemm.helper\n    ladder.workloads.gemm.helper.thing()", {"helper"}),
        ("if True:\n    from ladder.workloads.gemm import helper", {"helper"}),
        ("from ladder.workloads.gemm import FORMS\nimport ladder.errors, numpy", set()),
    ],
)
def test_every_way_to_import_is_followed(folder, line, modules):
    """`line` is in the variant `mine`; `modules` are those of the folder that it imports."""
    for name, text in {"mine": line, "helper": "from . import deeper", "other": "", "deeper": "", "alone": ""}.items():
        (folder / f"{name}.py").write_text(f'DEVICE = "host"\nRUNTIME = "blas"\n{text}\n')
    expected = modules | {"mine"} | ({"deeper"} if "helper" in modules else set())
    case = Case("gemm", "mine", GEMM_SIZES, {})
    assert {path.stem for path in sources.code_paths(case) if path.parent == folder} == expected
    nodes = imports.reachable_nodes("ladder.workloads.gemm.mine")
    assert {node.path.stem for node in nodes if node.path.parent == folder} == expected


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("from ladder.errors import LadderError\nerror = LadderError", True),
        ("from ladder import errors\nerror = errors.LadderError", True),
        ("import ladder.errors\nerror = ladder.errors.LadderError", True),
        ("import ladder.errors as errors\nerror = errors.LadderError", True),
        # An import alone refers to no definition.
        ("import ladder.errors", False),
        ("from ladder import errors", False),
        # A local name hides the import.
        ("from ladder import errors\ndef run(errors):\n    return errors.LadderError", False),
        ("from ladder import errors\ndef run():\n    errors = len\n    return errors.LadderError", False),
        ("from ladder import errors\nrun = lambda errors: errors.LadderError", False),
        ("from ladder import errors\nrun = [errors.LadderError for errors in ()]", False),
        # No local name hides it where it is used.
        ("from ladder import errors\ndef run(error=errors.LadderError):\n    errors = 1", True),
        ("from ladder import errors\ndef run():\n    global errors\n    errors = errors.LadderError", True),
        ("from ladder import errors\ndef run(error):\n    return errors.LadderError", True),
    ],
)
def test_a_definition_is_followed_if_a_name_refers_to_it(folder, text, follows):
    (folder / "mine.py").write_text(f"{text}\n")
    nodes = [
        node for node in imports.reachable_nodes("ladder.workloads.gemm.mine") if isinstance(node, imports.Definition)
    ]
    assert ("LadderError" in {name for node in nodes for name in syntax.bound_names(node.node)}) == follows


def test_a_reference_depends_on_its_code(folder):
    fingerprints = [sources.reference_fingerprint("gemm")]  # gemm has no reference: the digest of no code
    assert fingerprints[0] == sources.digest()
    for text in ("x = 1\n", "x = 2\n"):
        (folder / "reference.py").write_text(text)
        sources.clear_caches()
        fingerprints.append(sources.reference_fingerprint("gemm"))
    assert len(set(fingerprints)) == 3


def test_packages_are_those_that_a_file_imports_at_any_depth(tmp_path):
    text = "import numpy as np, scipy.linalg\nfrom numba.core import types\nfrom . import a\nfrom .b import c\n"
    (tmp_path / "mine.py").write_text(f"{text}def run():\n    import ladder.errors\n    from cupy import cuda\n")
    assert syntax.libraries(tmp_path / "mine.py") == {"numpy", "scipy", "numba", "ladder", "cupy"}


def test_of_a_functions_body_only_the_docstring_is_ignored(folder):
    def digest(first):
        sources.clear_caches()
        (folder / "mine.py").write_text(f"def run():\n    {first}\n    return 1\n")
        return sources.digest("ladder.workloads.gemm.mine")

    assert digest('"""Runs."""') == digest('"""Runs it."""')
    assert len({digest(first) for first in ('"""Runs."""', "x = 1", "x = 2", "1")}) == 4


def test_invalid_code_and_a_missing_root_are_refused(tmp_path):
    (tmp_path / "broken.py").write_text("import")
    with pytest.raises(LadderError, match=r"broken\.py isn't valid Python"):
        literals.read(tmp_path / "broken.py")
    with pytest.raises(LadderError, match=r"ladder\.harness\.nothing, .* doesn't exist"):
        sources.digest("ladder.harness.nothing")
    with pytest.raises(LadderError, match=r"ladder\.harness\.worker\.nothing, .* doesn't exist"):
        sources.digest("ladder.harness.worker:nothing")


def test_the_harness_of_every_measurement_counts():
    """The environment, the clock, the flush and the checks count; reports and the lookup of names don't."""
    case = Case("gemm", "blas", GEMM_SIZES, {})
    roots = [*sources.HARNESS, "ladder.devices.host", *sources.roots_of(case)]
    names = {
        f"{node.path.stem}.{name}"
        for node in imports.reachable_nodes(*roots)
        if isinstance(node, imports.Definition)
        for name in syntax.bound_names(node.node)
    }
    expected = {"environment.of_worker", "host.Host", "caches.flusher", "worker.take_samples"}
    expected |= {
        "validation.compare",
        "validation.poison",
        "intervals.have_converged",
        "plausibility.require_plausible",
        "blas.setup",
    }
    assert expected <= names
    unexpected = ("verdicts.", "record.", "report.", "occupancy.", "sources.", "imports.", "syntax.", "compilation.")
    assert not [name for name in names if name.startswith(unexpected)]


# The modules of the small package that the fixture `changed_by` edits, and their texts.
MODULES = {
    "base": "from ladder.tools import flush\nclass Base:\n    def flush(self):\n        flush(1)\n",
    "derived": "from ladder.base import Base\nclass Derived(Base):\n    def stop(self):\n        return 1\n",
    "other": "from ladder import base\nclass Other(base.Base):\n    def stop(self):\n        return 2\n",
    "tools": "def flush(count):\n    return count\n\n\ndef unused():\n    return 1\n",
    "start": "def go():\n    return 1\n",
    "stop": "def go():\n    return 2\n",
    "both": "from ladder import start, stop\ndef run():\n    start.go()\n    stop.go()\n",
}


@pytest.fixture
def changed_by(tmp_path, monkeypatch):
    """A function that edits a module of a small package and returns the modules whose fingerprints change."""
    package = tmp_path / "ladder"
    package.mkdir()
    for name, text in MODULES.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.setattr(imports, "PACKAGE", package)

    def fingerprints():
        sources.clear_caches()
        return {name: sources.digest(f"ladder.{name}") for name in MODULES}

    def edit(name, old, new):
        before = fingerprints()
        assert old in MODULES[name]
        (package / f"{name}.py").write_text(MODULES[name].replace(old, new))
        after = fingerprints()
        return {name for name in MODULES if before[name] != after[name]}

    return edit


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("base", "flush(1)", "flush(2)", {"base", "derived", "other"}),
        ("derived", "return 1", "return 3", {"derived"}),
        ("derived", "(Base)", "", {"derived"}),
        ("tools", "return count", "return -count", {"tools", "base", "derived", "other"}),
        ("tools", "return 1", "return 3", {"tools"}),
    ],
)
def test_a_class_counts_with_its_bases_and_what_they_use(changed_by, name, old, new, expected):
    assert changed_by(name, old, new) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("flush(count):", "flush(count: int):"),
        ("flush(count):", "flush(count: 'Base') -> None:"),
        (
            "def flush",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ladder.base import Base\ndef flush",
        ),
    ],
)
def test_type_hints_outside_of_workloads_do_not_count(changed_by, old, new):
    assert changed_by("tools", old, new) == set()


def test_a_type_hint_of_a_workload_counts_but_is_not_followed(folder):
    """It counts because a compiler such as Triton's reads it."""

    def reachable_code(argument):
        sources.clear_caches()
        (folder / "mine.py").write_text(f"from ladder import errors\ndef run({argument}):\n    return 1\n")
        return sources.digest("ladder.workloads.gemm.mine"), len(imports.reachable_nodes("ladder.workloads.gemm.mine"))

    digests, nodes = zip(*map(reachable_code, ("x", "x: int", "x: errors.LadderError")), strict=True)
    assert len(set(digests)) == 3
    assert len(set(nodes)) == 1


def test_the_order_of_calls_of_two_functions_of_one_name_counts(changed_by):
    assert changed_by("both", "start.go()\n    stop.go()", "stop.go()\n    start.go()") == {"both"}


def test_another_python_computes_the_same_fingerprint(folder, monkeypatch):
    """Since Python 3.12, functions and classes have a field for type parameters, which is empty here."""
    (folder / "mine.py").write_text('DEVICE = "host"\n\n\nclass A:\n    def f(self, x=[]):\n        return x\n')
    before = sources.digest("ladder.workloads.gemm.mine")
    for kind in (ast.FunctionDef, ast.ClassDef):
        if "type_params" not in kind._fields:
            monkeypatch.setattr(kind, "_fields", (*kind._fields, "type_params"))
    parse = ast.parse

    def parse_as_python_3_12(text):
        tree = parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                node.type_params = []
        return tree

    monkeypatch.setattr(ast, "parse", parse_as_python_3_12)
    sources.clear_caches()
    assert sources.digest("ladder.workloads.gemm.mine") == before
    (folder / "mine.py").write_text('DEVICE = "host"\n\n\nclass A:\n    def f(self, x=[0]):\n        return x\n')
    sources.clear_caches()
    assert sources.digest("ladder.workloads.gemm.mine") != before


def test_files_in_other_languages_with_a_modules_name_belong_to_it(folder):
    for name in ("mine.py", "mine.c", "mine.cuh", "mine.zig", "mine.pyi", "mine.pyc", "mine_too.c"):
        (folder / name).write_text("")
    (folder / "mine.py").write_text('DEVICE = "host"\nRUNTIME = "openmp"\n')
    names = {path.name for path in sources.code_paths(Case("gemm", "mine", GEMM_SIZES, {})) if path.parent == folder}
    assert names == {"mine.py", "mine.c", "mine.cuh", "mine.zig"}


KERNEL = """
#include <cstdio>
#include "near.cuh"
#include "shared.cuh"
"""


def test_headers_beside_a_source_and_in_the_shared_folder_are_followed(folder):
    """Headers that nothing includes, and comments, don't count."""
    variant = 'DEVICE = "cuda"\nRUNTIME = "cuda"\nSOURCE = "kernel.cu"\n'
    shared = folder.parent / "include"
    shared.mkdir()
    texts = {folder / "mine.py": variant, folder / "kernel.cu": KERNEL, folder / "near.cuh": '#include "deep.cuh"\n'}
    texts |= {folder / "deep.cuh": "// deep\n", shared / "shared.cuh": "int x;\n", folder / "other.cuh": "int y;\n"}
    for path, text in texts.items():
        path.write_text(text)

    def fingerprints():
        sources.clear_caches()
        return sources.kernel_fingerprint(folder / "kernel.cu"), sources.digest("ladder.workloads.gemm.mine")

    before = fingerprints()
    for name in ("near.cuh", "deep.cuh"):
        (folder / name).write_text(texts[folder / name] + "int z;\n")
        assert all(new != old for new, old in zip(fingerprints(), before, strict=True)), name
        (folder / name).write_text(texts[folder / name] + "// no change\n")
        assert fingerprints() == before
    (shared / "shared.cuh").write_text("int w;\n")
    assert all(new != old for new, old in zip(fingerprints(), before, strict=True))
    (shared / "shared.cuh").write_text("int x;\n")
    (folder / "other.cuh").write_text("int w;\n")
    assert fingerprints() == before
