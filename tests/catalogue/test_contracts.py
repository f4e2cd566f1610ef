"""What `docs/contracts.md` says that a workload and a variant have, and what they and devices do have."""

import ast
import inspect
import re
import subprocess
import sys

import pytest

from conftest import ROOT
from ladder import devices
from ladder.catalogue import imports, workloads
from ladder.devices.host import Host

CONTRACTS = (ROOT / "docs/contracts.md").read_text(encoding="utf-8")
NAME = re.compile(r"`(\w+)(?:\(([^)]*)\))?`")


def contract(heading):
    """{name: (arguments or None, meaning)} of the table below a heading."""
    section = CONTRACTS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ", 1) for line in section.splitlines() if line.startswith("| `")]
    return {
        name: ([one.strip() for one in arguments.split(",") if one.strip()] if f"`{name}(" in names else None, meaning)
        for names, meaning in rows
        for name, arguments in NAME.findall(names)
    }


def takes(function, arguments):
    """Whether a function can be called with these arguments in their order."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("name", devices.CLASSES)
def test_a_device_overrides_methods_with_the_same_arguments(name):
    device = type(devices.load(name))
    for method in vars(Host):
        if inspect.isroutine(getattr(Host, method)) and not method.startswith("__"):
            assert inspect.signature(getattr(device, method)) == inspect.signature(getattr(Host, method)), method


def test_the_harness_asks_a_device_only_for_what_the_host_has():
    device, asked = re.compile(r"\b(device|devices\.of\(\w+\))$"), set()
    for path in (imports.HOME / "harness").glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        asked |= {node.attr for node in attributes if device.search(ast.unparse(node.value))}
    assert asked <= set(vars(Host))
    assert {name for name in vars(Host) if not name.startswith("__")} == asked


def test_the_host_needs_neither_cupy_nor_mpi():
    """A fresh process, since this one has loaded other devices."""
    program = "import sys; from ladder import devices; devices.load('host'); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ladder.devices.host" in loaded
    assert not {"cupy", "mpi4py", "ladder.cuda", "ladder.devices.gpu", "ladder.devices.mpi"} & loaded


@pytest.mark.parametrize("workload", workloads.names())
def test_every_workload_has_what_the_harness_asks_of_it(workload):
    module, due = workloads.load(workload), contract("A workload")
    assert {"SIZES", "rounds", "check"} <= set(due)
    for name, (arguments, meaning) in due.items():
        if not hasattr(module, name):
            assert meaning.startswith("optional"), name
        elif arguments is not None:
            given = [*arguments, "facts"] if name == "cost" and hasattr(module, "FACTS") else arguments
            assert takes(getattr(module, name), given), name


def test_every_constant_of_a_variant_is_one_of_the_contract_or_used_by_a_workload():
    """Nobody would miss one that is misspelt."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in workloads.HOME.glob("*/*.py"))
    known = {*contract("A variant"), *re.findall(r"\b[A-Z][A-Z0-9_]+\b(?! = )", text)}
    for workload in workloads.names():
        for variant in workloads.variants(workload):
            assert set(workloads.constants(workload, variant)) <= known, f"{workload}/{variant}"
