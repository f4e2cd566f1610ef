"""Shared objects of variants' C sources: which of them a case needs, their compilation by gcc, and their loading.

A library is one source compiled with one set of flags and constants by this machine's compiler for its CPU. The name of
the library's folder identifies compiler and CPU, so nodes with other CPUs don't load it. A report beside the library
holds the compiler, the options and the vectorised loops.
"""

import ctypes
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ladder.build.binaries import FOLDER, TYPES
from ladder.catalogue import native_sources, setup_arguments, sources, traits, workloads
from ladder.errors import LadderError
from ladder.machine import cpus, programs
from ladder.records import checksums, locks
from ladder.records.case import Case
from ladder.records.files import read_json, write_atomically

COMPILER = "gcc"
TIMEOUT = 600  # seconds to compile a source: a compiler that hangs must not block a run
# gcc's options for each value of the tuning `flags`; `study` are those of the earlier study on back-propagation.
# -ffast-math, which -Ofast contains, is not passed to the linker, where it would flush subnormal numbers to zero in the
# whole process.
FLAGS = {
    "O2": ("-O2",),
    "O3": ("-O3",),
    "unroll": ("-O3", "-funroll-loops"),
    "fast": ("-O3", "-ffast-math"),
    "native": ("-O3", "-march=native"),
    "all": ("-O3", "-march=native", "-ffast-math", "-funroll-loops"),
    "none": (),
    "study": ("-Ofast", "-funroll-loops", "-funswitch-loops"),
}
DEFAULT_FLAGS = "native"
COMMON_OPTIONS = ("-std=gnu17", "-fopenmp", "-fPIC", "-Wall", "-fopt-info-vec-optimized")
# Every library loads OpenMP's runtime, even if it doesn't call it, so that the threads can be read back.
LINK_OPTIONS = ("-shared", "-fopenmp", "-Wl,--no-as-needed")
SLUG = re.compile(r"dtype=(float64|float32),flags=(\w+)((?:,[a-z_]+=-?\d+)*)")
# The names of gcc's temporary files, and its messages about a line of the source.
TEMPORARY_NAME = re.compile(r"\S*/cc\w+\.s\b")
VECTORIZED = re.compile(r":(\d+):\d+: optimized: (.*vectorized.*)")
WARNING = re.compile(r":(\d+):\d+: warning: (.*)")


def of_case(case: Case) -> set[tuple[str, str, str]]:
    """The libraries of a case and the variants it uses: {(workload, variant, "dtype=float32,flags=O2"), ...}."""
    dtype, variant_key = case.sizes["dtype"], (case.workload, case.variant)
    tunings: list[tuple[str, str, dict[str, Any]]] = [
        (*variant_key, case.tuning),
        *((*other, {}) for other in traits.used_variants(case)),
    ]
    return {
        (workload, variant, slug(workload, variant, dtype, tuning))
        for workload, variant, tuning in tunings
        if is_in_c(workload, variant)
    }


def is_in_c(workload: str, variant: str) -> bool:
    """Whether a variant is written in C."""
    return str(workloads.constants(workload, variant).get("SOURCE", "")).endswith(".c")


def slug(workload: str, variant: str, dtype: str, tuning: dict[str, Any]) -> str:
    """The constants of a library in canonical form: dtype, flags, then its MACROS, sorted by name."""
    values = {"flags": DEFAULT_FLAGS} | setup_arguments.defaults(workload, variant) | tuning
    macros = workloads.constants(workload, variant).get("MACROS", ())
    return ",".join(
        [f"dtype={dtype}", f"flags={values['flags']}", *(f"{name}={values[name]}" for name in sorted(macros))]
    )


def options(slug: str) -> list[str]:
    """gcc's options for a slug. Raises LadderError if it is malformed or has unknown flags."""
    match = SLUG.fullmatch(slug)
    if not match:
        raise LadderError(f"{slug!r} isn't written like dtype=float64,flags=O2.")
    dtype, flags, numbers = match.groups()
    if flags not in FLAGS:
        raise LadderError(f"There are no flags {flags!r}: choose one of {', '.join(FLAGS)}.")
    macros = TYPES[dtype] | {name.upper(): value for name, value in re.findall(r",(\w+)=(-?\d+)", numbers)}
    return [*COMMON_OPTIONS, *FLAGS[flags], *(f"-D{name}={value}" for name, value in macros.items())]


def path_of(workload: str, variant: str, slug: str) -> Path:
    """The path of a library for this CPU and compiler; that of its report ends in .json."""
    return FOLDER / host_label() / workload / variant / f"{slug}.so"


@functools.cache
def host_label() -> str:
    """A short name for this CPU and compiler: a digest of the compiler's version, executable, options and subcommands.

    The version alone isn't enough: a wrapper, such as one that adds -O0, prints that of the compiler it calls.
    """
    facts: list[Any] = [compiler_version()]
    if facts[0]:
        facts += [
            executable_digest(),
            programs.output(COMPILER, *FLAGS["native"], "-Q", "--help=target"),
            subcommands(),
        ]
    return f"host-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]}"


@functools.cache
def compiler_version() -> str:
    """The compiler's name and version; empty without a compiler."""
    return next(iter(programs.output(COMPILER, "--version").splitlines()), "")


def executable_digest() -> str:
    """The digest of the executable COMPILER on the PATH, which may be a wrapper."""
    return checksums.sha256(shutil.which(COMPILER) or COMPILER)


def subcommands() -> list[str]:
    """The commands that the compiler would run to compile a source with all flags, without names of temporary files."""
    command = [COMPILER, "-###", *COMMON_OPTIONS, *FLAGS["all"], "-c", "-xc", os.devnull, "-o", "source.o"]
    lines = programs.messages(*command).splitlines()
    return [TEMPORARY_NAME.sub("", line) for line in lines if line.startswith(" ")]


def source_of(workload: str, variant: str) -> Path:
    """The C source of a variant. Raises LadderError if it has none."""
    if not is_in_c(workload, variant):
        raise LadderError(f"{workload}/{variant} has no C source: there is nothing to compile for the host.")
    return workloads.variant_path(workload, variant).with_name(workloads.constants(workload, variant)["SOURCE"])


def fingerprint(workload: str, variant: str) -> str:
    """A short digest of a variant's C source and the headers that it includes."""
    return sources.kernel_fingerprint(source_of(workload, variant))


def ensure(workload: str, variant: str, slug: str) -> Path:
    """The path of a library, compiled now if it is missing or its inputs have changed. Raises LadderError."""
    path = path_of(workload, variant, slug)
    inputs = {"sources": fingerprint(workload, variant), "options": options(slug), "link": list(LINK_OPTIONS)}
    report = path.with_suffix(".json")
    with locks.folder_lock(path.parent):  # other processes that need the same library wait for it
        if path.exists() and report.exists() and is_as_reported(path, report, inputs):
            return path
        report.unlink(missing_ok=True)  # a library without a report is invalid
        log = compile(source_of(workload, variant), options(slug), path)
        contents = inputs | {
            "digest": checksums.sha256(path),
            "compiler": compiler_version(),
            "cpu": cpus.cpu()["Model name"],
            "vectorised": messages(VECTORIZED, log),
            "warnings": messages(WARNING, log),
        }
        write_atomically(report, json.dumps(contents, indent=1) + "\n")
    return path


def is_as_reported(path: Path, report: Path, inputs: Mapping[str, Any]) -> bool:
    """Whether a library was made from these inputs and is intact: a changed byte could change its results."""
    return {**inputs, "digest": checksums.sha256(path)}.items() <= read_json(report).items()


def messages(pattern: re.Pattern, log: str) -> list[str]:
    """The compiler's messages about the source that match a pattern, without duplicates."""
    return list(dict.fromkeys(f"line {line}: {message}" for line, message in pattern.findall(log)))


def compile(source: Path, options: Sequence[str], path: Path) -> str:
    """Compile a source to a library at `path`; returns the log. Raises LadderError with the compiler's message."""
    include = [f"-I{folder}" for folder in (source.parent, *native_sources.include_folders())]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        object_path, library_path = Path(folder) / "source.o", Path(folder) / "library.so"
        log = run_compiler(source, [COMPILER, *options, *include, "-c", str(source)], object_path)
        run_compiler(source, [COMPILER, *LINK_OPTIONS, object_path, "-lm"], library_path)
        library_path.replace(path)
    return log


def run_compiler(source: Path, command: Sequence[Path | str], out: Path) -> str:
    """Run the compiler, which writes to `out`; returns its messages. Raises LadderError."""
    try:
        result = programs.run(*command, "-o", out, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise LadderError(
            f"{COMPILER} hasn't compiled {source.name} after {TIMEOUT} s: {shutil.which(COMPILER)} may wait for "
            "something. Try it by hand, or put another compiler first on the PATH."
        ) from None
    except FileNotFoundError:
        raise LadderError(
            f"{source.name} can't be compiled: there is no {COMPILER}. On Debian: apt-get install gcc libc6-dev."
        ) from None
    if result.returncode:
        match = re.search(r"error: (.+)", result.stderr)
        reason = match[1] if match else (result.stderr.strip().splitlines() or ["the compiler gave no reason"])[-1]
        raise LadderError(f"{COMPILER} can't compile {source.name}: {reason}.")
    if not out.exists():
        raise LadderError(
            f"{COMPILER} reports no error, but hasn't compiled {source.name}: {shutil.which(COMPILER)} isn't a working "
            "compiler. Put another one first on the PATH."
        )
    return result.stderr


@functools.cache
def load(workload: str, variant: str, dtype: str, **tuning: int | str) -> ctypes.CDLL:
    """The loaded library of a variant for arrays of a dtype and for these tunings, compiled now if necessary."""
    path = ensure(workload, variant, slug(workload, variant, dtype, tuning)).resolve()
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        if os.statvfs(path).f_flag & os.ST_NOEXEC:
            raise LadderError(
                f"{path} can't be loaded, because its file system is mounted with `noexec`: remount it with `exec`, or "
                "run in a folder elsewhere, with Snakemake's `--directory`."
            ) from None
        reason = str(error).removeprefix(f"{path}: ")
        raise LadderError(
            f"{path} can't be loaded: {reason}. Does {shutil.which(COMPILER)} compile for this machine? Remove the "
            "file to have it compiled again."
        ) from None
