"""Compilation of CUDA C++ to loadable binaries ahead of any measurement, on a machine with or without a GPU.

The compiler is NVRTC, from its Python packages; without them it is nvcc.
"""

import importlib.util
import io
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ladder.build import binaries
from ladder.catalogue import native_sources, sources
from ladder.errors import LadderError
from ladder.machine import programs
from ladder.records import checksums, locks
from ladder.records.files import read_json, write_atomically

STANDARD = "c++17"
TIMEOUT = 600  # seconds for nvcc to compile a source
# The compilation targets that include architecture-specific instructions, such as wgmma; later architectures lack them.
TARGETS = {"sm_90": "sm_90a"}


def ensure(architecture: str, workload: str, variant: str, slug: str) -> Path:
    """The path of a binary, compiled now if it is missing or its source has changed. Raises LadderError."""
    path, source = binaries.path_of(architecture, workload, variant, slug), binaries.source_of(workload, variant)
    note, fingerprint = note_of(path), sources.kernel_fingerprint(source)
    with locks.folder_lock(path.parent):  # other processes that need the same binary wait for it
        if path.exists() and note.exists():
            contents = read_json(note)
            # Notes of early versions have no digest.
            digest = checksums.sha256(path)
            if contents.get("sources") == fingerprint and contents.get("digest", digest) == digest:
                return path
        code, log, compiler = compile(source, binaries.macros(slug), architecture)
        note.unlink(missing_ok=True)  # a binary without a note is invalid
        path.write_bytes(code)
        contents = {"compiler": compiler, "sources": fingerprint, "digest": checksums.sha256(path), "log": log}
        write_atomically(note, json.dumps(contents, indent=1) + "\n")
    return path


def note_of(path: Path) -> Path:
    """The path of a binary's note: its compiler, the fingerprint of its sources, and the compiler's log, as JSON."""
    return path.with_suffix(".compiled.json")


def compile(source: Path, macros: Mapping[str, Any], architecture: str) -> tuple[bytes, str, str]:
    """(binary, compiler's log, compiler's name) of a source. Raises LadderError with the compiler's message."""
    if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.core"):
        return compile_with_nvrtc(source, macros, architecture)
    if shutil.which("nvcc"):
        return compile_with_nvcc(source, macros, architecture)
    raise LadderError(
        f"{source.name} can't be compiled: there is no CUDA compiler. Install NVRTC's wheels by "
        "`make setup GPU=1` in the project's folder, or put nvcc on the PATH."
    )


def compile_with_nvrtc(source: Path, macros: Mapping[str, Any], architecture: str) -> tuple[bytes, str, str]:
    """Compile with NVRTC, which requires neither a GPU nor a driver; returns what `compile` does."""
    from cuda.bindings import nvrtc
    from cuda.core import Program, ProgramOptions

    log = io.StringIO()
    options = ProgramOptions(
        name=source.name,
        arch=TARGETS.get(architecture, architecture),
        std=STANDARD,
        define_macro=[(name, str(value)) for name, value in macros.items()],
        include_path=include_path(source),
        # NVRTC takes generic lambdas for functions of the host before release 13.2, unless this is set.
        device_as_default_execution_space=True,
        ptxas_options=["-v"],
    )
    try:
        code = (
            Program(source.read_text(encoding="utf-8"), code_type="c++", options=options)
            .compile("cubin", logs=log)
            .code
        )
    except Exception as error:  # the binding's exception for a failed compilation depends on its version
        raise failure(source, macros, architecture, f"{log.getvalue()}\n{error}") from None
    _, major, minor = nvrtc.nvrtcVersion()
    return code, log.getvalue(), f"NVRTC {major}.{minor}"


def compile_with_nvcc(source: Path, macros: Mapping[str, Any], architecture: str) -> tuple[bytes, str, str]:
    """Compile with nvcc; returns what `compile` does."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "binary.cubin"
        command = [
            "nvcc",
            "-cubin",
            f"-arch={TARGETS.get(architecture, architecture)}",
            f"-std={STANDARD}",
            "-Xptxas=-v",
            "-o",
            str(out),
        ]
        command += [f"-I{folder}" for folder in include_path(source)]
        command += [*(f"-D{name}={value}" for name, value in macros.items()), str(source)]
        try:
            result = programs.run(*command, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            raise failure(source, macros, architecture, f"nvcc hasn't ended after {TIMEOUT} s") from None
        if result.returncode or not out.exists():
            raise failure(source, macros, architecture, result.stderr)
        version = programs.run("nvcc", "--version").stdout
        release = re.search(r"release ([0-9.]+)", version)
        return out.read_bytes(), result.stderr, f"nvcc {release[1] if release else 'unknown'}"


def include_path(source: Path) -> list[str]:
    """The folders that are searched for headers: that of the source, then those that workloads share."""
    return [str(folder) for folder in (source.parent, *native_sources.include_folders())]


def failure(source: Path, macros: Mapping[str, Any], architecture: str, log: str) -> LadderError:
    """The error of a failed compilation, with the compiler's first error, such as why a tiling is illegal."""
    match = re.search(r"error: (?:static assertion failed with \")?(.+?)\"?\s*$", log, re.MULTILINE)
    reason = match[1] if match else log.strip().splitlines()[-1] if log.strip() else "the compiler gave no reason"
    constants = ", ".join(f"{name}={value}" for name, value in macros.items())
    return LadderError(f"{source.name} can't be compiled for {architecture} with {constants}: {reason}")
