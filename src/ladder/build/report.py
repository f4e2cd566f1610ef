"""What each kernel of a binary takes: registers, shared memory, spills, and how many blocks fit on a multiprocessor.

It lies beside the binary as JSON. No measurement reads it.
"""

import json
import re

from ladder.build import compiler
from ladder.build.occupancy import launch_bounds, occupancy
from ladder.catalogue import workloads
from ladder.records.files import read_json, write_atomically

# What ptxas says of each kernel under -v.
ENTRY = re.compile(r"Compiling entry function '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def write(architecture, workload, variant, slug):
    """The path of a binary's report, written now; the binary is compiled if it must be. Raises LadderError."""
    path = compiler.ensure(architecture, workload, variant, slug)
    note = read_json(compiler.note_of(path))
    dynamic = dynamic_memory(workload, variant, slug)
    about = {
        "architecture": architecture,
        "workload": workload,
        "variant": variant,
        "constants": slug,
        "compiler": note["compiler"],
        "sources": note["sources"],
        "kernels": resources(note["log"], architecture, launch_bounds(path.read_bytes()), dynamic),
        "warnings": warnings(note["log"]),
    }
    out = path.with_suffix(".json")
    write_atomically(out, json.dumps(about, indent=1) + "\n")
    return out


def dynamic_memory(workload, variant, slug):
    """Bytes of shared memory that a variant's launches of a binary ask for, by its `geometry`; 0 where it has none.

    `geometry(sizes, **tuning)` gives grid, block and these bytes for a problem; all its sizes are 1 here. None where
    the variant needs a library that isn't installed.
    """
    if not workloads.defines(workload, variant, "geometry"):
        return 0
    constants = dict(pair.split("=") for pair in slug.split(","))
    sizes = workloads.small_sizes(workload, {"dtype": constants.pop("dtype")}, 1)
    try:
        geometry = workloads.load_variant(workload, variant).geometry
    except ImportError:
        return None
    return geometry(sizes, **{name: int(value) for name, value in constants.items()})[2]


def resources(log, architecture, bounds, dynamic):
    """{kernel: {registers, shared, stack, spills, threads, dynamic, occupancy}} by ptxas's words and a cubin's bounds.

    All but registers and threads in bytes. `shared` is static, `threads` are a block's by the kernel's launch bounds,
    None without. `occupancy` is None where that or `dynamic` is, and on an unknown architecture.
    """
    found = {}
    for part in re.split(r"(?=Compiling entry function)", log)[1:]:
        stack, stores, loads = map(int, SPILLS.search(part).groups())
        registers, shared = USED.search(part).groups()
        name, registers, shared = ENTRY.match(part)[1], int(registers), int(shared or 0)
        memory = None if dynamic is None else shared + dynamic
        found[name] = {
            "registers": registers,
            "shared": shared,
            "stack": stack,
            "spills": stores + loads,
            "threads": bounds.get(name),
            "dynamic": dynamic,
            "occupancy": occupancy(architecture, bounds.get(name), registers, memory),
        }
    return found


def warnings(log):
    """The compiler's warnings, a line each."""
    return [line.strip() for line in log.splitlines() if "warning" in line.lower()]
