"""A log of a variant's calls to GPUs, libraries and runtimes, as lines of text, without running any of them.

Stand-ins replace CuPy, cuBLAS, PyTorch, MPI, the libraries in C and functions compiled by Numba, and log each call with
its arguments. So tests can read a variant's launches, macros and calls where the variant can't run, in milliseconds.
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
from ladder.catalogue import traits, workloads
from ladder.cuda import clock, cublas, cublas_lt, dependent_launch, gpus, tensor_map
from ladder.devices import mpi
from ladder.harness import environment
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem

# The stand-in for a GPU has the multiprocessors and the shared memory of an H200, in bytes, and a small L2 cache.
MULTIPROCESSORS = 132
ATTRIBUTES = {"MultiProcessorCount": MULTIPROCESSORS, "MaxSharedMemoryPerBlockOptin": 232448, "L2CacheSize": 2**20}
BLOCKS_PER_MULTIPROCESSOR = 2  # resident blocks of any kernel
LIBRARY_RESULT = 64  # the result of every function of a library in C, such as the size of a workspace
RUNTIME_PREFIXES = ("OMP_", "NUMBA_", "OPENBLAS_")  # prefixes of the environment variables that are logged
TORCH_MODULES = ("torch", "torch.nn", "torch.nn.functional")


class Array(np.ndarray):
    """A GPU's array, on the host."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data, copy_from_device_async=lambda *arguments: None)

    def set(self, values, stream=None):
        self[...] = values

    def get(self, out=None, stream=None, blocking=True):
        return np.array(self)


def empty(shape, dtype=np.float32):
    return np.zeros(shape, dtype).view(Array)


class CallLog(list):
    """The lines of a log."""

    def add(self, function, *arguments, **options):
        options = (f"{name}={describe(value)}" for name, value in options.items())
        self.append(f"{function}({', '.join([*map(describe, arguments), *options])})")

    def stand_in(self, name, result=None):
        """A function that logs its calls under this name."""

        def call(*arguments, **options):
            self.add(name, *arguments, **options)
            return result

        return call


def describe(value):
    """A value as text: a number or a string as it is, a tuple by its elements, an array by its shape."""
    if isinstance(value, np.ndarray):
        return "x".join(map(str, value.shape)) or "0-d"
    if isinstance(value, tuple | list):
        return f"[{' '.join(map(describe, value))}]"
    if isinstance(value, MagicMock):
        return value._extract_mock_name()
    if hasattr(value, "_obj"):  # the result of ctypes.byref
        fields = getattr(value._obj, "_fields_", ())
        return f"&{getattr(value._obj, 'value', '')}" + "".join(
            f" {name}={field}" for name, _ in fields if isinstance(field := getattr(value._obj, name), int | float)
        )
    if isinstance(value, ctypes.c_void_p):
        return "pointer"
    if isinstance(value, ctypes._SimpleCData):
        return str(value.value)
    return str(value) if isinstance(value, str | int | float | np.generic | None) else type(value).__name__


class Kernel:
    """A kernel on a GPU; its launches are logged."""

    def __init__(self, log, name):
        self.log, self.name = log, name
        self.kernel = SimpleNamespace(ptr=0)

    def __call__(self, grid, block, arguments, shared_mem=0):
        numbers = [value for value in arguments if not isinstance(value, np.ndarray)]
        self.log.add(self.name, grid=grid, block=block, shared=shared_mem, numbers=numbers)


def kernels(log):
    """A stand-in for `cuda.kernel`."""

    def kernel(workload, variant, name, dtype, is_cooperative=False, **tuning):
        return Kernel(log, f"{workload}/{variant} {name} {binaries.slug(workload, variant, dtype, tuning)} ")

    return kernel


class Stream:
    """A stream of a GPU, with its number."""

    def __init__(self, number):
        self.ptr = number

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass

    def __getattr__(self, name):
        return cached_mock("stream")


class Library:
    """A library in C, or one of the driver's, with any function; calls are logged under the name of the library."""

    def __init__(self, log, name, result):
        self.log, self.name, self.result = log, name, result

    def __getattr__(self, name):
        def call(*arguments):
            self.log.add(f"{self.name} {name} ", *arguments)
            return self.result

        return call

    __getitem__ = __getattr__


class CublasLt(Library):
    """cuBLASLt, which proposes an algorithm for every product."""

    def __getitem__(self, name):
        return self.propose if name == "cublasLtMatmulAlgoGetHeuristic" else getattr(self, name)

    def propose(self, *arguments):
        arguments[-1]._obj.value = 1
        return self.result


def cupy(log):
    """A stand-in for CuPy."""
    numbers = itertools.count()

    def stream(non_blocking):
        number = next(numbers)
        log.add("stream", number)
        return Stream(number)

    module = SimpleNamespace(empty=empty, ndarray=Array, finfo=np.finfo, cuda=cached_mock("cupy.cuda"), zeros=empty)
    module.array = lambda values, dtype: np.array(values, dtype).view(Array)
    module.asarray = lambda values, dtype=None: np.asarray(values, dtype)
    module.cuda.runtime.CUDARuntimeError = RuntimeError
    module.cuda.runtime.hostRegister = log.stand_in("lock pages")
    module.cuda.runtime.memcpyHostToDevice, module.cuda.runtime.memcpyDeviceToHost = 1, 2
    module.cuda.runtime.memcpyAsync = lambda to, source, size, kind, stream: log.add("copy", kind=kind, stream=stream)
    module.cuda.Device.return_value.attributes = ATTRIBUTES
    module.cuda.Device.return_value.compute_capability = "90"
    module.cuda.Device.return_value.__enter__.side_effect = lambda: log.add("device")
    module.cuda.Stream, module.cuda.get_current_stream.return_value.ptr = stream, 0
    return module


@functools.cache
def cached_mock(name):
    """A mock with every attribute and method; cached, because its creation is slow."""
    return MagicMock(name=name)


def torch():
    """A stand-in for PyTorch with its default settings, whose decorators return functions unchanged."""
    module = cached_mock("torch")
    if module.mock_calls:
        module.reset_mock()  # slow, since it visits every attribute
    module.no_grad = module.inference_mode = lambda: lambda function: function
    module.compile.side_effect = lambda function, **options: function
    module.backends.cuda.matmul.allow_tf32, module.backends.cudnn.allow_tf32 = False, True
    return module


def world():
    """A communicator of two ranks; this process is the first."""
    communicator = cached_mock("world")
    communicator.size, communicator.rank = 2, 0
    communicator.allgather.return_value = [False, False]
    return communicator


def project_functions(log):
    """[(module, name, stand-in)] for the project's functions that would load or start something."""

    def load(workload, variant, dtype, **tuning):
        slug = libraries.slug(workload, variant, dtype, tuning)
        return Library(log, f"{workload}/{variant} {slug}", LIBRARY_RESULT)

    return (
        (cuda, "kernel", kernels(log)),
        (cuda, "module", lambda path: cached_mock("binary")),
        (cuda, "capture", lambda run, stream: log.add("graph") or run() or run),
        (cuda, "multiprocessors", lambda: MULTIPROCESSORS),
        (cuda, "architecture", lambda: "sm_90"),
        (cuda, "blocks_at_once", lambda kernel, block, shared: BLOCKS_PER_MULTIPROCESSOR * MULTIPROCESSORS),
        (compiler, "ensure", lambda *arguments: "binary"),
        (cublas, "library", lambda: Library(log, "cublas", 0)),
        (cublas_lt, "library", lambda: CublasLt(log, "cublasLt", 0)),
        (clock, "stopwatch", lambda run: run() or 0.0),
        (tensor_map, "encode", lambda *arguments: log.add("tensor map", *arguments[1:]) or np.int32(0)),
        (dependent_launch, "launcher", lambda kernel: kernel),
        (libraries, "load", load),
        (mpi, "communicator", world),
        (numba, "set_num_threads", log.stand_in("numba.set_num_threads")),
    )


@contextmanager
def stand_ins(case):
    """A context with stand-ins for everything that a case's variant calls; returns their CallLog."""
    log, patch, torch_module = CallLog(), pytest.MonkeyPatch(), torch()
    caches = (gpus.load_cupy, gpus.device_ids, cublas.handle_on, cublas_lt.handle_on)
    for cached in caches:
        cached.cache_clear()
    forget_users_of(sys.modules.get("torch"))
    try:
        cupyx = SimpleNamespace(
            empty_pinned=lambda shape, dtype: log.add("pinned", shape, dtype) or np.zeros(shape, dtype)
        )
        for name, module in (dict.fromkeys(TORCH_MODULES, torch_module) | {"cupy": cupy(log), "cupyx": cupyx}).items():
            patch.setitem(sys.modules, name, module)
        for replacement in project_functions(log):
            patch.setattr(*replacement)
        for variant in ((case.workload, case.variant), *traits.used_variants(case)):
            workloads.load_variant(*variant)
        patch_workloads(log, patch)
        yield log
        for name, arguments, options in torch_module.mock_calls:
            log.add(f"torch.{name}", *arguments, **options)
        tf32 = torch_module.backends.cuda.matmul.allow_tf32, torch_module.backends.cudnn.allow_tf32
        log.append(f"TF32 is allowed: {tf32[0]} {tf32[1]}")
    finally:
        patch.undo()
        for cached in caches:
            cached.cache_clear()
        forget_users_of(torch_module)


def forget_users_of(torch_module):
    """Forget the project's modules that imported PyTorch or this stand-in, so that they are imported again."""
    if torch_module is None:
        return
    modules = {name: module for name, module in sys.modules.items() if name.startswith("ladder.")}
    for name in [name for name, module in modules.items() if vars(module).get("torch") is torch_module]:
        module, (parent, _, child) = sys.modules.pop(name), name.rpartition(".")
        if getattr(sys.modules.get(parent), child, None) is module:
            delattr(sys.modules[parent], child)


def patch_workloads(log, patch):
    """Replace functions compiled by Numba, shared threads, MPI's types, and handles in `ladder.workloads`."""
    for path, module in list(sys.modules.items()):
        if not path.startswith("ladder.workloads."):
            continue
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                folder = value.__module__.removeprefix("ladder.workloads.")
                patch.setattr(module, name, log.stand_in(f"{folder} {name} "))
    for path, name, result in (
        ("mlp.blas_threads", "share_threads", True),
        ("gemv.ranks", "mpi_types", (None, None)),
        ("gemv.ranks", "in_place", None),
        ("gemv.nccl_cublas", "communicator", cached_mock("NCCL")),
        ("gemv.nccl_cublas", "load_nccl", cached_mock("NCCL")),
        ("dcgan.mpi_home", "row_type", None),
        ("descent.cublas", "device_scalar_handle", None),
    ):
        if module := sys.modules.get(f"ladder.workloads.{path}"):
            patch.setattr(module, name, log.stand_in(name, result))
    if module := sys.modules.get("ladder.workloads.descent.blas"):
        patch.setattr(module, "get_blas_funcs", functools.partial(blas_functions, log))


def blas_functions(log, names, dtype):
    """SciPy's functions of BLAS; they run, and their calls are logged."""

    def log_calls(name, function):
        return lambda *arguments, **options: log.add(f"BLAS {name} ", *arguments) or function(*arguments, **options)

    return [log_calls(*pair) for pair in zip(names, get_blas_funcs(names, dtype=dtype), strict=True)]


def lines(case):
    """The log of a case: its worker's variables, its phases, and its calls during `setup` and one run."""
    with stand_ins(case) as log:
        variables = environment.of_worker(case).items()
        log += [f"{name}={text}" for name, text in variables if name.startswith(RUNTIME_PREFIXES)]
        log.append(f"launched by {' '.join(devices.of(case).command(case, 'env'))}")
        workload, variant = (workloads.load(case.workload), workloads.load_variant(case.workload, case.variant))
        on_gpu = traits.device(case) == "cuda"
        device = SimpleNamespace(
            empty=empty if on_gpu else devices.load("host").empty,
            is_first=lambda: True,
            communicator=world,
            map_shared=lambda array: array,
            upload=lambda staged, arrays: None,
            to_host=np.array,
        )
        problem = make_problem(workload, case, device, variant)
        for array in {**problem.inputs, **problem.outputs}.values():
            array[...] = 0
        if case.workload == "descent":  # which would stop at once on a system of zeros
            problem.matrix[...], problem.b[...] = np.diag(np.arange(1, len(problem.b) + 1)), 1
        steps = Steps.of(variant.setup(problem, **case.tuning))
        prepare, run = steps.by_phase()
        log += [f"prepares {name}" for name, _ in prepare] + [f"runs {name}" for name, _ in run]
        chain_steps(steps.prepare)()
        steps.timed()()
    return log
