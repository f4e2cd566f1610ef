"""A measurement depends on the code that its variant imports, and on no other."""

import ast
from pathlib import Path

import pytest

from ladder.catalogue import sources, workloads
from ladder.errors import LadderError
from ladder.records.case import Case

GEMM = workloads.complete("gemm", {"m": 1, "n": 1, "k": 1})
MLP = workloads.complete("mlp", {"images": 1, "batch": 1, "epochs": 1, "rate": 1.0})


def code(case):
    """The files of a case's code, below the workloads' folder."""
    return {str(path.relative_to(workloads.HOME)) for path in sources.code(case)}


def test_a_variant_depends_on_what_it_imports():
    assert code(Case("gemm", "blas", GEMM, {})) == {"gemm/__init__.py", "gemm/blas.py"}
    launched = {"gemm/__init__.py", "gemm/launch.py", "gemm/operands.cuh", "gemm/ptx.cuh", "gemm/staged.cuh"}
    assert code(Case("gemm", "cuda_naive", GEMM, {})) == launched | {"gemm/cuda_naive.py", "gemm/cuda_naive.cu"}
    workload = {"mlp/__init__.py", "mlp/reference.py"}
    assert code(Case("mlp", "numpy_loop", MLP, {})) == workload | {"mlp/numpy_loop.py"}
    # One variant imports another; a module imports the next.
    assert code(Case("mlp", "pytorch_cuda", MLP, {})) == workload | {"mlp/pytorch_cuda.py", "mlp/pytorch.py"}
    own = {f"mlp/{name}.py" for name in ("host", "blas_threads", "elementwise", "exponential")}
    assert code(Case("mlp", "host", MLP, {"product": "c_openmp"})) == workload | own | {
        "gemm/c_openmp.py",
        "gemm/c_openmp.c",
    }


@pytest.mark.parametrize(
    ("line", "modules"),
    [
        ("import ladder.workloads.gemm.helper", {"helper"}),
        ("from ladder.workloads.gemm import helper as h", {"helper"}),
        ("from ladder.workloads.gemm.helper import thing", {"helper"}),
        ("from . import helper, other", {"helper", "other"}),
        ("from .helper import thing", {"helper"}),
        ("from ..gemm.helper import thing", {"helper"}),
        ("def setup():\n    from ladder.workloads.gemm import helper", {"helper"}),
        ("from ladder.workloads.gemm import FORMS\nimport ladder.errors, numpy", set()),
    ],
)
def test_every_way_to_import_is_followed(tmp_path, monkeypatch, line, modules):
    own = tmp_path / "gemm"
    own.mkdir()
    for name, text in {"mine": line, "helper": "from . import deeper", "other": "", "deeper": "", "alone": ""}.items():
        (own / f"{name}.py").write_text(f'DEVICE = "host"\nRUNTIME = "blas"\n{text}\n')
    monkeypatch.setattr(workloads, "folders", lambda workload: [workloads.HOME / workload, tmp_path / workload])
    for cached in (workloads.variant_path, workloads.statements, workloads.constants, sources.reached):
        cached.cache_clear()
    found = {path.stem for path in sources.code(Case("gemm", "mine", GEMM, {})) if path.parent == own}
    assert found == modules | {"mine"} | ({"deeper"} if "helper" in modules else set())
    sources.reached.cache_clear()


def test_the_harness_counts_and_broken_code_is_a_sentence(tmp_path):
    names = {Path(path).name for path in sources.files(Case("gemm", "blas", GEMM, {}))}
    assert names == {
        "worker.py",
        "steps.py",
        "measure.py",
        "validation.py",
        "statistics.py",
        "data.py",
        "caches.py",
        "large.py",
        "host.py",
        "blas.py",
    } | {"__init__.py"}
    (tmp_path / "broken.py").write_text("import")
    with pytest.raises(LadderError, match=r"broken\.py isn't valid Python"):
        list(sources.imports(tmp_path / "broken.py"))


def test_another_python_finds_the_same_code(tmp_path, monkeypatch):
    """Since Python 3.12 functions and classes have a field for the parameters of their type, empty here."""
    path = tmp_path / "module.py"
    path.write_text("class A:\n    def f(self, x=[]):\n        return x\n")
    before = sources.digest.__wrapped__(path)
    for kind in (ast.FunctionDef, ast.ClassDef):
        if "type_params" not in kind._fields:
            monkeypatch.setattr(kind, "_fields", (*kind._fields, "type_params"))
    parse = ast.parse

    def newer(text):
        tree = parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                node.type_params = []
        return tree

    monkeypatch.setattr(ast, "parse", newer)
    assert sources.digest.__wrapped__(path) == before
    path.write_text("class A:\n    def f(self, x=[0]):\n        return x\n")
    assert sources.digest.__wrapped__(path) != before
