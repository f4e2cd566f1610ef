"""What a variant asks of cards, libraries and runtimes, as lines of text: nothing of it is there, and nothing works.

In place of CuPy, cuBLAS, PyTorch, MPI, the libraries in C and what Numba compiles there are stand-ins, which note each
call with its numbers. So a variant's launches, macros and calls can be read where it can't run, in milliseconds.
"""

import ctypes
import functools
import itertools
import sys
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import MagicMock

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from scipy.linalg.blas import get_blas_funcs

from ladder import cuda, devices
from ladder.build import binaries, compiler, libraries
from ladder.catalogue import workloads
from ladder.cuda import cublas, dependent_launch, gpus, tensor_map
from ladder.devices import mpi
from ladder.harness import environment
from ladder.harness.steps import Steps, in_order
from ladder.harness.worker import make_problem

MULTIPROCESSORS = 132
ATTRIBUTES = {"MultiProcessorCount": MULTIPROCESSORS, "MaxSharedMemoryPerBlockOptin": 232448, "L2CacheSize": 2**20}
BLOCKS = 2  # of a multiprocessor at once
ROOM = 64  # what a library in C says of the elements that it needs
RUNTIMES = ("OMP_", "NUMBA_", "OPENBLAS_")  # whose variables are noted
TORCH = ("torch", "torch.nn", "torch.nn.functional")


class Array(np.ndarray):
    """An array of a card, on the host."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data, copy_from_device_async=lambda *given: None)

    def set(self, values, stream=None):
        self[...] = values

    def get(self, out=None, stream=None, blocking=True):
        return np.array(self)


def empty(shape, dtype=np.float32):
    return np.zeros(shape, dtype).view(Array)


class Notes(list):
    """The lines."""

    def add(self, what, *given, **named):
        options = (f"{name}={described(one)}" for name, one in named.items())
        self.append(f"{what}({', '.join([*map(described, given), *options])})")

    def noting(self, what, result=None):
        """A function that notes its calls under this name."""

        def call(*given, **named):
            self.add(what, *given, **named)
            return result

        return call


def described(one):
    """A number or a word as it is, a tuple by its parts, an array by its shape."""
    if isinstance(one, np.ndarray):
        return "x".join(map(str, one.shape)) or "0-d"
    if isinstance(one, tuple | list):
        return f"[{' '.join(map(described, one))}]"
    if isinstance(one, MagicMock):
        return one._extract_mock_name()
    if hasattr(one, "_obj"):  # what ctypes.byref has made
        fields = getattr(one._obj, "_fields_", ())
        return f"&{getattr(one._obj, 'value', '')}" + "".join(
            f" {name}={value}" for name, _ in fields if isinstance(value := getattr(one._obj, name), int | float)
        )
    if isinstance(one, ctypes.c_void_p):
        return "pointer"
    if isinstance(one, ctypes._SimpleCData):
        return str(one.value)
    return str(one) if isinstance(one, str | int | float | np.generic | None) else type(one).__name__


class Kernel:
    """A kernel of a card; its launches are noted."""

    def __init__(self, notes, name):
        self.notes, self.name = notes, name
        self.kernel = SimpleNamespace(ptr=0)

    def __call__(self, grid, block, arguments, shared_mem=0):
        numbers = [one for one in arguments if not isinstance(one, np.ndarray)]
        self.notes.add(self.name, grid=grid, block=block, shared=shared_mem, numbers=numbers)


def kernels(notes):
    """What takes the place of `cuda.kernel`."""

    def kernel(workload, variant, name, dtype, is_cooperative=False, **tuning):
        return Kernel(notes, f"{workload}/{variant} {name} {binaries.slug(workload, variant, dtype, tuning)} ")

    return kernel


class Stream:
    """A stream of a card, by its number."""

    def __init__(self, number):
        self.ptr = number

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass

    def __getattr__(self, name):
        return anything("stream")


class Library:
    """A library in C, or one of the driver's: any function, noted. `of` are its constants."""

    def __init__(self, notes, of, result):
        self.notes, self.of, self.result = notes, of, result

    def __getattr__(self, name):
        def call(*given):
            self.notes.add(f"{self.of} {name} ", *given)
            return self.result

        return call

    __getitem__ = __getattr__


def cupy(notes):
    """A stand-in for CuPy."""
    numbers = itertools.count()

    def stream(non_blocking):
        number = next(numbers)
        notes.add("stream", number)
        return Stream(number)

    found = SimpleNamespace(empty=empty, ndarray=Array, finfo=np.finfo, cuda=anything("cupy.cuda"), zeros=empty)
    found.array = lambda values, dtype: np.array(values, dtype).view(Array)
    found.asarray = lambda values, dtype=None: np.asarray(values, dtype)
    found.cuda.runtime.CUDARuntimeError = RuntimeError
    found.cuda.runtime.hostRegister = notes.noting("lock pages")
    found.cuda.runtime.memcpyHostToDevice, found.cuda.runtime.memcpyDeviceToHost = 1, 2
    found.cuda.runtime.memcpyAsync = lambda to, of, size, kind, stream: notes.add("copy", kind=kind, stream=stream)
    found.cuda.Device.return_value.attributes = ATTRIBUTES
    found.cuda.Device.return_value.compute_capability = "90"
    found.cuda.Device.return_value.__enter__.side_effect = lambda: notes.add("device")
    found.cuda.Stream, found.cuda.get_current_stream.return_value.ptr = stream, 0
    return found


@functools.cache
def anything(of):
    """What has every attribute and takes every call; making it takes longer than its use."""
    return MagicMock(name=of)


def torch():
    """A stand-in for PyTorch with its defaults, whose decorators leave functions as they are."""
    found = anything("torch")
    found.reset_mock()
    found.no_grad = found.inference_mode = lambda: lambda function: function
    found.backends.cuda.matmul.allow_tf32, found.backends.cudnn.allow_tf32 = False, True
    return found


def world():
    """A communicator of two ranks, of which this one is the first."""
    found = anything("world")
    found.size, found.rank = 2, 0
    found.allgather.return_value = [False, False]
    return found


def of_project(notes):
    """(Module, name, what stands there) of the project's own that would load something."""

    def load(workload, variant, dtype, **tuning):
        slug = libraries.slug(workload, variant, dtype, tuning)
        return Library(notes, f"{workload}/{variant} {slug}", ROOM)

    return (
        (cuda, "kernel", kernels(notes)),
        (cuda, "module", lambda path: anything("binary")),
        (cuda, "capture", lambda run, stream: notes.add("graph") or run() or run),
        (cuda, "multiprocessors", lambda: MULTIPROCESSORS),
        (cuda, "architecture", lambda: "sm_90"),
        (cuda, "blocks_at_once", lambda kernel, block, shared: BLOCKS * MULTIPROCESSORS),
        (compiler, "ensure", lambda *of: "binary"),
        (cublas, "library", lambda: Library(notes, "cublas", 0)),
        (tensor_map, "encode", lambda *of: notes.add("tensor map", *of[1:]) or np.int32(0)),
        (dependent_launch, "launcher", lambda kernel: kernel),
        (libraries, "load", load),
        (mpi, "communicator", world),
        (numba, "set_num_threads", notes.noting("numba.set_num_threads")),
    )


@contextmanager
def stand_ins(case):
    """A context in which whatever a case's variant calls is noted: the Notes."""
    notes, patch, of_torch = Notes(), pytest.MonkeyPatch(), torch()
    caches = (gpus.load_cupy, gpus.device_ids, cublas.handle_on)
    for one in caches:
        one.cache_clear()
    try:
        pinned = SimpleNamespace(empty_pinned=lambda *kind: notes.add("pinned", *kind) or np.zeros(*kind))
        for name, module in (dict.fromkeys(TORCH, of_torch) | {"cupy": cupy(notes), "cupyx": pinned}).items():
            patch.setitem(sys.modules, name, module)
        for place in of_project(notes):
            patch.setattr(*place)
        for variant in ((case.workload, case.variant), *workloads.used(case)):
            workloads.load_variant(*variant)
        in_workloads(notes, patch)
        yield notes
        for name, given, options in of_torch.mock_calls:
            notes.add(f"torch.{name}", *given, **options)
        is_allowed = of_torch.backends.cuda.matmul.allow_tf32, of_torch.backends.cudnn.allow_tf32
        notes.append(f"TF32 is allowed: {is_allowed[0]} {is_allowed[1]}")
    finally:
        patch.undo()
        for one in caches:
            one.cache_clear()
        for name in [name for name, module in sys.modules.items() if vars(module).get("torch") is of_torch]:
            forget(name)


def forget(name):
    """Have a module imported again by whoever needs it: it may have imported a stand-in."""
    module, (parent, _, own) = sys.modules.pop(name), name.rpartition(".")
    if getattr(sys.modules.get(parent), own, None) is module:
        delattr(sys.modules[parent], own)


def in_workloads(notes, patch):
    """Put notes in the place of what Numba compiles, of threads that runtimes share, of MPI's types, and of handles."""
    for path, module in list(sys.modules.items()):
        if not path.startswith("ladder.workloads."):
            continue
        for name, one in list(vars(module).items()):
            if isinstance(one, Dispatcher):
                patch.setattr(module, name, notes.noting(f"{one.__module__.removeprefix('ladder.workloads.')} {name} "))
    for path, name, result in (
        ("mlp.blas_threads", "share", True),
        ("gemv.ranks", "types", (None, None)),
        ("gemv.ranks", "in_place", None),
        ("gemv.nccl_cublas", "communicator", anything("NCCL")),
        ("gemv.nccl_cublas", "load_nccl", anything("NCCL")),
        ("dcgan.mpi_home", "row_type", None),
        ("descent.cublas", "handle", None),
    ):
        if module := sys.modules.get(f"ladder.workloads.{path}"):
            patch.setattr(module, name, notes.noting(name, result))
    if module := sys.modules.get("ladder.workloads.descent.blas"):
        patch.setattr(module, "get_blas_funcs", functools.partial(blas_functions, notes))


def blas_functions(notes, names, dtype):
    """SciPy's functions of BLAS, which work and are noted."""

    def noted(name, function):
        return lambda *given, **named: notes.add(f"BLAS {name} ", *given) or function(*given, **named)

    return [noted(*pair) for pair in zip(names, get_blas_funcs(names, dtype=dtype), strict=True)]


def of(case):
    """The lines of a case: its worker's variables, its phases, and what it calls in its set-up and one run."""
    with stand_ins(case) as notes:
        variables = environment.of_worker(case).items()
        notes += [f"{name}={text}" for name, text in variables if name.startswith(RUNTIMES)]
        notes.append(f"launched by {' '.join(devices.of(case).command(case, 'env'))}")
        workload, variant = (workloads.load(case.workload), workloads.load_variant(case.workload, case.variant))
        on_card = workloads.device(case) == "cuda"
        device = SimpleNamespace(
            empty=empty if on_card else devices.load("host").empty,
            is_first=lambda: True,
            communicator=world,
            shared=lambda array: array,
            upload=lambda staged, arrays: None,
            to_host=np.array,
        )
        problem = make_problem(workload, case, device, variant)
        for array in {**problem.inputs, **problem.outputs}.values():
            array[...] = 0
        if case.workload == "descent":  # which ends at once where nothing is asked
            problem.matrix[...], problem.b[...] = np.diag(np.arange(1, len(problem.b) + 1)), 1
        steps = Steps.of(variant.setup(problem, **case.tuning))
        prepare, run = steps.by_phase()
        notes += [f"prepares {name}" for name, _ in prepare] + [f"runs {name}" for name, _ in run]
        in_order(steps.prepare)()
        steps.timed()()
    return notes
