"""Emulation of a GPU: CUDA kernels are compiled for the CPU by g++ and launched by name, as in CuPy."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import TESTS
from ladder.build import binaries
from ladder.catalogue import native_sources
from ladder.devices.host import Host

EMULATION_SOURCES = TESTS / "emulated"
GXX_OPTIONS = ("-std=c++20", "-O1", "-fPIC", "-pthread")
GUARD_ELEMENTS = 8  # elements behind each array, which no kernel may write
MAX_BLOCK_THREADS = 1024  # of CUDA
needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="requires g++")


@functools.cache
def runtime_folder():
    """The folder of `device.o`, which runs the threads of all kernels; compiled once per process."""
    folder = tempfile.TemporaryDirectory()
    subprocess.run(
        ["g++", *GXX_OPTIONS, "-c", EMULATION_SOURCES / "device.cpp", "-o", f"{folder.name}/device.o"], check=True
    )
    return folder  # the cache keeps it as long as the process runs


@functools.cache
def header_folder():
    """The folder of the headers of all workloads, with the instructions of `emulated/ptx` in place of a GPU's.

    All are copied to one folder, because a header includes its neighbours first, whatever the order of -I.
    """
    folder = tempfile.TemporaryDirectory()
    for source in reversed(native_sources.include_folders()):  # so that the first folder's headers win, as with -I
        shutil.copytree(source, folder.name, dirs_exist_ok=True)
    shutil.copytree(EMULATION_SOURCES / "ptx", Path(folder.name, "ptx"), dirs_exist_ok=True)
    return folder  # the cache keeps it as long as the process runs


def compile_program(source, target, macros, *options):
    """Compile a program of `emulated/` with macros, {name: value}, and with the headers of all workloads."""
    options = [*GXX_OPTIONS, *options, *(f"-D{name}={value}" for name, value in macros.items())]
    options += [f"-I{EMULATION_SOURCES}", f"-I{header_folder().name}"]
    subprocess.run(["g++", *options, source, f"{runtime_folder().name}/device.o", "-o", target], check=True)


class Kernels:
    """The kernels of a variant's source for one dtype and tuning; `get` replaces `cuda.kernel`.

    `program` is the file in `emulated/` that includes the source; `further_macros` may have SOURCE, the path of
    another source than the variant's; `options` are further ones of g++.
    """

    def __init__(self, folder, program, workload, variant, dtype, further_macros=None, options=(), **tuning):
        self.variant, self.dtype, self.tuning, self.launches = variant, dtype, tuning, []
        source = binaries.source_of(workload, variant)
        macros = binaries.macros(binaries.slug(workload, variant, dtype, tuning))
        macros |= {"SOURCE": f'"{source}"'} | (further_macros or {})
        library = folder / "kernels.so"
        compile_program(EMULATION_SOURCES / program, library, macros, "-shared", *options, f"-I{source.parent}")
        self.library = ctypes.CDLL(str(library))
        self.library.emulate.restype = ctypes.c_bool

    def get(self, workload, variant, name, dtype, **tuning):
        assert (variant, dtype, tuning) == (self.variant, self.dtype, self.tuning)
        return partial(self.launch, name)

    def launch(self, name, grid, block, arguments, shared_mem=0):
        self.launches.append((name, grid, block))
        assert np.prod(block) <= MAX_BLOCK_THREADS
        values = [np.uintp(value.ctypes.data) if isinstance(value, np.ndarray) else value for value in arguments]
        byte_counts = (ctypes.c_size_t * len(values))(*(value.nbytes for value in values))
        values = [np.array(value) for value in values]
        addresses = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        grid, block = ((ctypes.c_uint * 3)(*size, *[1] * (3 - len(size))) for size in (grid, block))
        assert self.library.emulate(name.encode(), Dim3(grid), Dim3(block), len(values), byte_counts, addresses), name


@functools.cache
def descent_kernels(variant, dtype, **tuning):
    """The Kernels of a variant of `descent_kernel`, compiled once per process."""
    names = ["init", "product", "reduction", "transpose", "scale", "vecdif", "vecsum"]
    names += ["hash", "gemv"] if variant == "cuda_version2" else []
    with tempfile.TemporaryDirectory() as folder:
        return Kernels(
            Path(folder), "listed_kernels.cpp", "descent_kernel", variant, dtype, kernel_macros(names), **tuning
        )


def kernel_macros(names, dynamic_bytes=0):
    """The macros of `listed_kernels.cpp` for kernels of these names, with so much dynamic shared memory per block."""
    return {"KERNELS": "".join(f"TRY({name});" for name in names), "DYNAMIC_BYTES": dynamic_bytes}


def source_macro(folder, workload, variant, changes=()):
    """The macro SOURCE for a copy of a variant's source and the headers beside it, after `changes`, (old, new) texts.

    Each old text must occur once in all of these files.
    """
    source = binaries.source_of(workload, variant)
    texts = {path.name: path.read_text() for path in (source, *source.parent.glob("*.cuh"))}
    for old, new in changes:
        count = sum(text.count(old) for text in texts.values())
        assert count == 1, f"{source.name} and its headers have {count} of {old!r}"
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {"SOURCE": f'"{folder / source.name}"'}


class Dim3(ctypes.Structure):
    """The sizes of a grid or a block in x, y and z, as `emulate` takes them."""

    _fields_ = [("counts", ctypes.c_uint * 3)]


def device():
    """A device whose arrays are on the host, filled with NaN, or with 0 if they are of integers.

    `guards` holds the GUARD_ELEMENTS elements behind each array.
    """
    guards = []

    def empty(shape, dtype):
        count = int(np.prod(shape))
        array = Host().empty((count + GUARD_ELEMENTS,), dtype)
        array[...] = np.nan if array.dtype.kind == "f" else 0
        guards.append(array[count:])
        return array[:count].reshape(shape)

    def upload(staged, arrays):
        for name, array in arrays.items():
            array[...] = staged[name]

    def staging(arrays):
        return {name: np.empty_like(array) for name, array in arrays.items()}

    functions = {"empty": empty, "staging_arrays": staging, "upload": upload, "to_host": np.copy}
    return SimpleNamespace(is_first=lambda: True, guards=guards, **functions)


# {dtype: (the integer type of its size, the bits of a NaN, whose lower bits are free)}.
NAN_BITS = {"f4": ("u4", 0x7FC00000), "f8": ("u8", 0x7FF8000000000000)}


def guarded_host():
    """The host device with guards after its arrays, as in `device`, each with its own `guard_value`."""
    guarded, host = device(), Host()

    def empty(shape, dtype):
        array, guard = guarded.empty(shape, dtype), guarded.guards[-1]
        guard.view(guard_integers(guard))[...] = guard_value(guard, len(guarded.guards))
        return array

    host.empty, host.guards = empty, guarded.guards
    return host


def guard_integers(guard):
    """The integer type as which a guard is compared."""
    return NAN_BITS.get(guard.dtype.str[1:], (guard.dtype, 0))[0]


def guard_value(guard, number):
    """The value in the guard of this number: a NaN that no other guard has, or 0."""
    _, nan = NAN_BITS.get(guard.dtype.str[1:], (None, 0))
    return nan + number if nan else 0


def are_intact(guards):
    """Whether nothing was written behind an array, not even a NaN that was read behind another array."""
    return all(
        (guard.view(guard_integers(guard)) == guard_value(guard, number)).all()
        for number, guard in enumerate(guards, 1)
    )
