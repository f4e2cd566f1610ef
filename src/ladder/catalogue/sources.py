"""The fingerprint of the code that a measurement depends on.

It is taken from the syntax tree without docstrings, so that comments, docstrings and formatting measure nothing anew,
while any other change does. Snakemake keeps it as a parameter of the measuring rule.
"""

import ast
import functools
import hashlib
import itertools
import re
import sys
from pathlib import Path

from ladder.catalogue import workloads

HOME = Path(__file__).parents[1]
# What every measurement goes through.
HARNESS = (
    "harness/worker.py",
    "harness/steps.py",
    "harness/workers.py",
    "harness/environment.py",
    "harness/measure.py",
    "harness/validation.py",
    "statistics/intervals.py",
    "data/dataset.py",
    "data/idx.py",
    "machine/caches.py",
    "devices/large.py",
    "devices/host.py",
)
# What those on a device go through besides.
ON_CUDA = ("devices/cuda.py", "devices/cublas.py", "build/binaries.py")
ON_DEVICE = {
    "host": (),
    "cuda": ON_CUDA,
    "mpi": ("devices/mpi.py",),
    "mpi_cuda": ("devices/mpi_cuda.py", "devices/mpi.py", *ON_CUDA),
}


def files(case):
    """The source files whose code a case's measurement depends on."""
    return [*(HOME / name for name in (*HARNESS, *ON_DEVICE.get(workloads.device(case), ()))), *code(case)]


def code(case):
    """The source files of a case's workload and variants, with all that these import of the workloads."""
    used = sorted(workloads.used(case))
    return reached(((case.workload, "__init__"), (case.workload, case.variant), *used))


@functools.cache
def reached(modules):
    """The files of modules, (workload, name) each, and of the workloads' modules that they import, in a fixed order."""
    found, due = {}, list(modules)
    while due:
        path = workloads.module_path(*due.pop(0))
        if path and path not in found:
            found |= dict.fromkeys([path, *beside(path)])
            due += of_workloads(imports(path))
    return list(found)


def of_workloads(names):
    """Of dotted names those below `ladder.workloads`, as (workload, module); a name in a module counts as one too."""
    for name in names:
        match name.split("."):
            case ["ladder", "workloads", workload, *below]:
                yield workload, "__init__"
                yield from ((workload, module) for module in below[:1])


def imports(path):
    """The dotted names that a module in a workload's folder imports: modules, and what it takes from them."""
    for node in itertools.chain.from_iterable(map(ast.walk, workloads.statements(path))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ["ladder", "workloads", path.parent.name][: 4 - node.level] if node.level else []
            start = ".".join([*package, *([node.module] if node.module else [])])
            yield from (start, *(f"{start}.{one.name}" for one in node.names))


def beside(path):
    """The sources in other languages that belong to a variant, and the headers that they include."""
    found = sorted(path.parent.glob(f"{path.stem}.[!p]*"))
    return [*found, *sorted(path.parent.glob("*.cuh"))] if any(one.suffix == ".cu" for one in found) else found


def fingerprint(case):
    """A short digest of the code that a case's measurement depends on."""
    return combined(tuple(files(case)))


def reference_fingerprint(workload):
    """A short digest of the code that a workload's reference depends on."""
    return combined(tuple(sorted((workloads.HOME / workload).glob("reference.py"))))


@functools.cache
def combined(paths):
    return hashlib.sha256("".join(digest(path) for path in paths).encode()).hexdigest()[:16]


@functools.cache
def digest(path):
    """The digest of one source file's code: Python's syntax tree without docstrings, C's text without comments."""
    text = path.read_text()
    if path.suffix == ".py":
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
                node.body = node.body[1:]
        text = written(tree)
    else:
        text = re.sub(r"//.*|/\*[\s\S]*?\*/|\s+", " ", text)
    return hashlib.sha256(text.encode()).hexdigest()


def written(tree):
    """A syntax tree as text that all versions of Python agree on: newer ones have more fields, empty in older code."""
    for node in ast.walk(tree):
        if getattr(node, "type_params", None) == []:
            del node.type_params
    return ast.dump(tree, **({"show_empty": True} if sys.version_info >= (3, 13) else {}))
