"""The fingerprint of the code that a measurement depends on.

It is taken from the syntax tree without docstrings, so that comments, docstrings and formatting measure nothing anew,
while any other change does. Snakemake keeps it as a parameter of the measuring rule.
"""

import ast
import functools
import hashlib
import re
from pathlib import Path

from ladder import workloads

HOME = Path(__file__).parent
# What every measurement goes through.
HARNESS = ("worker.py", "measure.py", "validation.py", "statistics.py", "data.py", "devices/host.py")
# What those on a GPU go through besides.
ON_DEVICE = {"host": (), "cuda": ("devices/cuda.py", "build.py")}


def files(case):
    """The source files whose code a case's measurement depends on."""
    device = workloads.constants(case.workload, case.variant)["DEVICE"]
    found = [HOME / name for name in (*HARNESS, *ON_DEVICE.get(device, ()))]
    for workload, variant in [(case.workload, case.variant), *sorted(workloads.used(case))]:
        path = workloads.variant_path(workload, variant)
        support = [workloads.HOME / workload / f"{name}.py" for name in sorted(workloads.SUPPORT)]
        found += [path, *beside(path), *filter(Path.exists, support)]
    return found


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
        text = ast.dump(tree)
    else:
        text = re.sub(r"//.*|/\*[\s\S]*?\*/|\s+", " ", text)
    return hashlib.sha256(text.encode()).hexdigest()
