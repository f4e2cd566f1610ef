"""CUDA C++ to loadable binaries ahead of any measurement, on a machine with or without a GPU.

A binary is one source compiled for one architecture with one set of constants, its macros. The compiler is NVRTC,
which comes as wheels, or nvcc where those aren't installed. Beside every binary lies a report: what each of its kernels
takes.
"""

import ast
import fcntl
import importlib.util
import io
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from ladder.build.occupancy import launch_bounds, occupancy
from ladder.catalogue import literals, sources, workloads
from ladder.errors import LadderError
from ladder.records.files import read_json, write_atomically

FOLDER = Path("results/build")
STANDARD = "c++17"
TYPES = {"float64": {"REAL": "double", "FLOAT64": 1}, "float32": {"REAL": "float", "FLOAT64": 0}}
WRITTEN = re.compile(r"dtype=float(64|32)(,[a-z_]+=-?\d+)*")
# What ptxas says of each kernel under -v.
ENTRY = re.compile(r"Compiling entry function '(\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def kernels(case):
    """The binaries that a case needs: {(workload, variant, "dtype=float64,block=16"), ...}; none on the host."""
    found, own = set(), (case.workload, case.variant)
    tunings = [case.tuning] if case.tuning else choices(*own, case.sizes["dtype"])
    for workload, variant, tuning in [*((*own, tuning) for tuning in tunings), *used(case)]:
        if "SOURCE" in workloads.constants(workload, variant):
            found.add((workload, variant, slug(workload, variant, case.sizes["dtype"], tuning)))
    return found


def used(case):
    """The variants that a case takes its products from, with every tuning that these may choose."""
    dtype = case.sizes["dtype"]
    return [(*other, tuning) for other in sorted(workloads.used(case)) for tuning in choices(*other, dtype)]


def choices(workload, variant, dtype):
    """The tunings that a variant's product chooses from by shape: its TILES, else its defaults. Raises LadderError."""
    found = workloads.constants(workload, variant).get("TILES")
    if found is None:
        return ({},)
    tunings = found.get(dtype) if isinstance(found, dict) else found
    if not isinstance(tunings, tuple):
        raise LadderError(
            f"TILES of {workload}/{variant} must be a tuple of tunings, or one such tuple for float64 and for float32."
        )
    for tuning in tunings:
        workloads.require_tuning(workload, variant, tuning)
    return tunings


def named(default, **tiling):
    """The tiling that these tunings name, or `default` where they are all 0. Raises LadderError for a mixture."""
    if not any(tiling.values()):
        return default
    if missing := [name for name, value in tiling.items() if not value]:
        raise LadderError(f"A tiling names all of {', '.join(tiling)} or none: {', '.join(missing)} is missing.")
    return (tiling,)


def slug(workload, variant, dtype, tuning):
    """The constants of a binary in the one way that they are written: dtype, then every whole-number tuning by name."""
    takes = workloads.defaults(workload, variant) | tuning
    numbers = {name: value for name, value in sorted(takes.items()) if isinstance(value, int)}
    return ",".join(f"{name}={value}" for name, value in {"dtype": dtype, **numbers}.items())


def macros(slug):
    """{macro: value} of a slug: REAL and FLOAT64 for the dtype, and each tuning in capitals. Raises LadderError."""
    if not WRITTEN.fullmatch(slug):
        raise LadderError(f"{slug!r} isn't written like dtype=float64,block=16.")
    pairs = dict(pair.split("=") for pair in slug.split(","))
    return TYPES[pairs.pop("dtype")] | {name.upper(): value for name, value in pairs.items()}


def place(architecture, workload, variant, slug):
    """Where a binary lies; its report beside it ends in .json."""
    return FOLDER / architecture / workload / variant / f"{slug}.cubin"


def source_of(workload, variant):
    """The CUDA source of a variant."""
    path = workloads.variant_path(workload, variant)
    constants = workloads.constants(workload, variant)
    if "SOURCE" not in constants:
        raise LadderError(f"{workload}/{variant} has no CUDA source: there is nothing to build.")
    return path.with_name(constants["SOURCE"])


def fingerprint(workload, variant):
    """A short digest of a variant: its CUDA source, the headers beside it, and the module that launches the kernels."""
    source = source_of(workload, variant)
    launcher = workloads.variant_path(workload, variant)
    return sources.combined((source, *sorted(source.parent.glob("*.cuh")), launcher))


def ensure(architecture, workload, variant, slug):
    """The path of a binary, compiled now if it isn't there or its source has changed. Raises LadderError."""
    path = place(architecture, workload, variant, slug)
    report = path.with_suffix(".json")
    due = fingerprint(workload, variant)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # who needs the same binary at the same time waits for it
        if path.exists() and report.exists() and read_json(report).get("sources") == due:
            return path
        code, log, compiler = compile(source_of(workload, variant), macros(slug), architecture)
        report.unlink(missing_ok=True)  # a binary without a report is no binary
        path.write_bytes(code)
        about = {"architecture": architecture, "workload": workload, "variant": variant, "constants": slug}
        found = resources(log, architecture, launch_bounds(code), dynamic_memory(workload, variant, slug))
        about |= {"compiler": compiler, "sources": due, "kernels": found, "warnings": warnings(log)}
        write_atomically(report, json.dumps(about, indent=1) + "\n")
    return path


def compile(source, macros, architecture):
    """(binary, compiler's log, compiler's name) of a source. Raises LadderError with the compiler's words."""
    if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.core"):
        return by_nvrtc(source, macros, architecture)
    if shutil.which("nvcc"):
        return by_nvcc(source, macros, architecture)
    raise LadderError(
        f"{source.name} can't be compiled: there is no CUDA compiler. Install NVRTC's wheels with "
        "`pip install 'ladder[gpu]'`, or put nvcc on the PATH."
    )


def by_nvrtc(source, macros, architecture):
    """Compile with NVRTC, which needs neither a GPU nor a driver."""
    from cuda.bindings import nvrtc
    from cuda.core import Program, ProgramOptions

    log = io.StringIO()
    options = ProgramOptions(
        name=source.name,
        arch=architecture,
        std=STANDARD,
        define_macro=[(name, str(value)) for name, value in macros.items()],
        include_path=str(source.parent),
        ptxas_options=["-v"],
    )
    try:
        code = Program(source.read_text(), code_type="c++", options=options).compile("cubin", logs=log).code
    except Exception as error:  # what the binding raises for a failed compilation has changed between its versions
        raise failure(source, macros, architecture, f"{log.getvalue()}\n{error}") from None
    _, major, minor = nvrtc.nvrtcVersion()
    return code, log.getvalue(), f"NVRTC {major}.{minor}"


def by_nvcc(source, macros, architecture):
    """Compile with nvcc."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "binary.cubin"
        command = ["nvcc", "-cubin", f"-arch={architecture}", f"-std={STANDARD}", "-Xptxas=-v", "-o", str(out)]
        command += [*(f"-D{name}={value}" for name, value in macros.items()), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise failure(source, macros, architecture, done.stderr)
        version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
        return out.read_bytes(), done.stderr, f"nvcc {re.search(r'release ([0-9.]+)', version)[1]}"


def failure(source, macros, architecture, log):
    """The error of a failed compilation: the first thing that the compiler found wrong, an illegal tiling's reason."""
    found = re.search(r"error: (?:static assertion failed with \")?(.+?)\"?\s*$", log, re.MULTILINE)
    reason = found[1] if found else log.strip().splitlines()[-1] if log.strip() else "the compiler gave no reason"
    constants = ", ".join(f"{name}={value}" for name, value in macros.items())
    return LadderError(f"{source.name} can't be compiled for {architecture} with {constants}: {reason}")


def dynamic_memory(workload, variant, slug):
    """Bytes of shared memory that a variant's launches of a binary ask for, by its `geometry`; 0 where it has none.

    None where the variant needs a library that isn't here.
    """
    path = workloads.variant_path(workload, variant)
    if not any(isinstance(one, ast.FunctionDef) and one.name == "geometry" for one in literals.statements(path)):
        return 0
    tuning = dict(pair.split("=") for pair in slug.split(","))
    itemsize = np.dtype(tuning.pop("dtype")).itemsize
    try:
        geometry = workloads.load_variant(workload, variant).geometry
    except ImportError:
        return None
    _, _, dynamic = geometry(1, 1, itemsize, **{name: int(value) for name, value in tuning.items()})
    return dynamic


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
        whole = None if dynamic is None else shared + dynamic
        found[name] = {
            "registers": registers,
            "shared": shared,
            "stack": stack,
            "spills": stores + loads,
            "threads": bounds.get(name),
            "dynamic": dynamic,
            "occupancy": occupancy(architecture, bounds.get(name), registers, whole),
        }
    return found


def warnings(log):
    """The compiler's warnings, a line each."""
    return [line.strip() for line in log.splitlines() if "warning" in line.lower()]
