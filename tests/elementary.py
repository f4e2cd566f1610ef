"""Kernels on the CPU, in place of a card's: compiled by g++ and launched by name, as CuPy does it."""

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

EMULATED = TESTS / "emulated"
OPTIONS = ("-std=c++20", "-O1", "-fPIC", "-pthread")  # of g++
GUARD = 8  # elements behind each array
needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="requires g++")


@functools.cache
def runtime():
    """The folder of `device.o`, which runs the threads of all kernels: compiled once in a process."""
    folder = tempfile.TemporaryDirectory()
    subprocess.run(["g++", *OPTIONS, "-c", EMULATED / "device.cpp", "-o", f"{folder.name}/device.o"], check=True)
    return folder  # which lasts as long as the process


@functools.cache
def headers():
    """The folder of the headers of all workloads, with the instructions of `emulated/ptx` in place of a GPU's.

    One folder, since a header finds another beside it first, whatever the order of -I. Made once in a process.
    """
    folder = tempfile.TemporaryDirectory()
    for each in reversed(native_sources.include_folders()):
        shutil.copytree(each, folder.name, dirs_exist_ok=True)
    shutil.copytree(EMULATED / "ptx", Path(folder.name, "ptx"), dirs_exist_ok=True)
    return folder  # which lasts as long as the process


def compile_program(source, target, macros, *options):
    """Compile a program of `emulated/` with macros, {name: value}, and with the headers of all workloads."""
    options = [*OPTIONS, *options, *(f"-D{name}={value}" for name, value in macros.items())]
    options += [f"-I{EMULATED}", f"-I{headers().name}"]
    subprocess.run(["g++", *options, source, f"{runtime().name}/device.o", "-o", target], check=True)


class Kernels:
    """The kernels of a variant's source for one dtype and tuning; `get` takes the place of `cuda.kernel`.

    `program` is the file in `emulated/` that they are compiled with, `defined` has macros besides: SOURCE, too, where
    it is another than the variant's.
    """

    def __init__(self, folder, program, workload, variant, dtype, defined=None, **tuning):
        self.variant, self.dtype, self.tuning, self.launches = variant, dtype, tuning, []
        source = binaries.source_of(workload, variant)
        macros = binaries.macros(binaries.slug(workload, variant, dtype, tuning))
        macros |= {"SOURCE": f'"{source}"'} | (defined or {})
        library = folder / "kernels.so"
        compile_program(EMULATED / program, library, macros, "-shared", f"-I{source.parent}")
        self.library = ctypes.CDLL(str(library))
        self.library.emulate.restype = ctypes.c_bool

    def get(self, workload, variant, name, dtype, **tuning):
        assert (variant, dtype, tuning) == (self.variant, self.dtype, self.tuning)
        return partial(self.launch, name)

    def launch(self, name, grid, block, arguments, shared_mem=0):
        self.launches.append((name, grid, block))
        assert np.prod(block) <= 1024
        values = [np.uintp(one.ctypes.data) if isinstance(one, np.ndarray) else one for one in arguments]
        bytes = (ctypes.c_size_t * len(values))(*(one.nbytes for one in values))
        values = [np.array(one) for one in values]
        places = (ctypes.c_void_p * len(values))(*(one.ctypes.data for one in values))
        grid, block = ((ctypes.c_uint * 3)(*one, *[1] * (3 - len(one))) for one in (grid, block))
        assert self.library.emulate(name.encode(), Index(grid), Index(block), len(values), bytes, places), name


@functools.cache
def kernels(variant, dtype, **tuning):
    """The Kernels of a version of `descent_kernel`, compiled once in a process."""
    names = ["init", "product", "reduction", "transpose", "scale", "vecdif", "vecsum"]
    names += ["hash", "gemv"] if variant == "cuda_version2" else []
    with tempfile.TemporaryDirectory() as folder:
        return Kernels(Path(folder), "named.cpp", "descent_kernel", variant, dtype, named(names), **tuning)


def named(names, dynamic=0):
    """The macros of `named.cpp` for kernels of these names, whose blocks have so many bytes of dynamic memory."""
    return {"KERNELS": "".join(f"TRY({name});" for name in names), "DYNAMIC": dynamic}


class Index(ctypes.Structure):
    """x, y and z."""

    _fields_ = [("counts", ctypes.c_uint * 3)]


def device():
    """A device that has its arrays on the host, filled with NaN and guarded: `guards` are what lies behind them."""
    guards = []

    def empty(shape, dtype):
        count = int(np.prod(shape))
        array = Host().empty((count + GUARD,), dtype)
        array[...] = np.nan if array.dtype.kind == "f" else 0
        guards.append(array[count:])
        return array[:count].reshape(shape)

    def upload(staged, arrays):
        for name, array in arrays.items():
            array[...] = staged[name]

    def staging(arrays):
        return {name: np.empty_like(array) for name, array in arrays.items()}

    own = {"empty": empty, "staging": staging, "upload": upload, "to_host": np.copy, "guards": guards}
    return SimpleNamespace(is_first=lambda: True, **own)


BITS = {"f4": ("u4", 0x7FC00000), "f8": ("u8", 0x7FF8000000000000)}  # of NaN, whose last ones are free


def guarded_host():
    """The host with guards behind its arrays, as `device` has them, each with a NaN of its own."""
    own, host = device(), Host()

    def empty(shape, dtype):
        array, guard = own.empty(shape, dtype), own.guards[-1]
        guard.view(bits_of(guard))[...] = value_of(guard, len(own.guards))
        return array

    host.empty, host.guards = empty, own.guards
    return host


def bits_of(guard):
    """The type of whole numbers as which a guard is compared."""
    return BITS.get(guard.dtype.str[1:], (guard.dtype, 0))[0]


def value_of(guard, number):
    """What stands in a guard of this number: a NaN that no other has, or 0."""
    _, nan = BITS.get(guard.dtype.str[1:], (None, 0))
    return nan + number if nan else 0


def are_whole(guards):
    """Whether nothing was written behind an array, nor a NaN that was read behind another."""
    return all((guard.view(bits_of(guard)) == value_of(guard, place)).all() for place, guard in enumerate(guards, 1))
