"""What `docs/contracts.md` says that a workload, a variant and a device have, and what they do have."""

import inspect
import re

import pytest

from conftest import ROOT
from ladder import devices
from ladder.catalogue import workloads

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


@pytest.mark.parametrize("device", devices.NAMES)
def test_every_device_has_what_the_harness_asks_of_it(device):
    module, due = devices.load(device), contract("A device")
    assert len(due) > 25
    for name, (arguments, _) in due.items():
        assert hasattr(module, name), name
        assert arguments is None or takes(getattr(module, name), arguments), name


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
