"""The resources of each kernel of a binary: registers, shared memory, spills and occupancy, as JSON beside the binary.

No measurement reads this report.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ladder.build import compiler
from ladder.build.occupancy import launch_bounds, occupancy
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.records.files import read_json, write_atomically

# ptxas's messages about each kernel, with its option -v.
ENTRY = re.compile(r"Compiling entry function '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USAGE = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def write(architecture: str, workload: str, variant: str, slug: str) -> Path:
    """Write a binary's report and return its path; the binary is compiled if necessary. Raises LadderError."""
    path = compiler.ensure(architecture, workload, variant, slug)
    note = read_json(compiler.note_of(path))
    dynamic_bytes = dynamic_shared_bytes(workload, variant, slug)
    contents = {
        "architecture": architecture,
        "workload": workload,
        "variant": variant,
        "constants": slug,
        "compiler": note["compiler"],
        "sources": note["sources"],
        "kernels": kernel_resources(note["log"], architecture, launch_bounds(path.read_bytes()), dynamic_bytes),
        "warnings": warnings(note["log"]),
    }
    out = path.with_suffix(".json")
    write_atomically(out, json.dumps(contents, indent=1) + "\n")
    return out


def dynamic_shared_bytes(workload: str, variant: str, slug: str) -> int | None:
    """Bytes of dynamic shared memory with which a variant launches a binary, 0 if it has no function `geometry`.

    `geometry(sizes, **tuning)` returns grid, block and these bytes for a problem; all sizes are 1 here. The result is
    None if the variant imports a library that isn't installed.
    """
    if not workloads.defines(workload, variant, "geometry"):
        return 0
    constants = dict(pair.split("=") for pair in slug.split(","))
    sizes = workloads.complete_with(workload, {"dtype": constants.pop("dtype")}, 1)
    try:
        geometry = workloads.load_variant(workload, variant).geometry
    except ImportError:
        return None
    return geometry(sizes, **{name: int(value) for name, value in constants.items()})[2]


def kernel_resources(
    log: str, architecture: str, bounds: Mapping[str, int], dynamic_bytes: int | None
) -> dict[str, dict[str, Any]]:
    """{kernel: {registers, shared, stack, spills, threads, dynamic, occupancy}} from ptxas's log and launch bounds.

    `shared` (static), `stack`, `spills` and `dynamic` are bytes; `threads` per block are the kernel's launch bounds,
    or None. `occupancy` is None if `threads` or `dynamic` is, and on an unknown architecture.
    """
    kernels = {}
    for kernel_log in re.split(r"(?=Compiling entry function)", log)[1:]:
        stack_bytes, stored_bytes, loaded_bytes = map(int, require_match(SPILLS, kernel_log).groups())
        registers, static_bytes = (int(number or 0) for number in require_match(USAGE, kernel_log).groups())
        name = require_match(ENTRY, kernel_log)[1]
        shared_bytes = None if dynamic_bytes is None else static_bytes + dynamic_bytes
        kernels[name] = {
            "registers": registers,
            "shared": static_bytes,
            "stack": stack_bytes,
            "spills": stored_bytes + loaded_bytes,
            "threads": bounds.get(name),
            "dynamic": dynamic_bytes,
            "occupancy": occupancy(architecture, bounds.get(name), registers, shared_bytes),
        }
    return kernels


def require_match(pattern: re.Pattern, text: str) -> re.Match:
    """The first match of what ptxas prints about every kernel. Raises LadderError if it isn't there."""
    if match := pattern.search(text):
        return match
    raise LadderError(
        f"The log of ptxas has no text like {pattern.pattern!r}: this version of the compiler is unknown."
    )


def warnings(log: str) -> list[str]:
    """The compiler's warnings, a line each."""
    return [line.strip() for line in log.splitlines() if "warning" in line.lower()]
