"""Kernels, CUDA graphs, memory and copies for variants, on the current NVIDIA GPU, through CuPy.

`gpus` has the GPUs that are visible to a process; `clock` and `trace` time work on a GPU; the other modules call
functions of cuBLAS and of the driver that CuPy lacks.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ladder.build import binaries, compiler
from ladder.cuda.gpus import load_cupy, synchronize
from ladder.errors import LadderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


@functools.cache
def architecture() -> str:
    """The architecture for which kernels are compiled, such as sm_90."""
    return f"sm_{load_cupy().cuda.Device().compute_capability}"


@functools.cache
def multiprocessors() -> int:
    """The number of multiprocessors of the GPU."""
    return load_cupy().cuda.Device().attributes["MultiProcessorCount"]


@functools.cache
def kernel(workload: str, variant: str, name: str, dtype: str, is_cooperative: bool = False, **tuning: int) -> Any:
    """A kernel of a variant's CUDA source, compiled with `tuning` as its macros.

    All blocks of a cooperative kernel run at once, so they may wait for each other (`workloads/include/grid.cuh`).
    """
    slug = binaries.slug(workload, variant, dtype, tuning)
    return module(compiler.ensure(architecture(), workload, variant, slug), is_cooperative).get_function(name)


@functools.cache
def module(path: Path, is_cooperative: bool = False) -> Any:
    """A binary, loaded onto the GPU once."""
    return load_cupy().RawModule(path=str(path), enable_cooperative_groups=is_cooperative)


def blocks_at_once(kernel: Any, block: int, shared_bytes: int) -> int:
    """The number of blocks of a kernel that the GPU can run at once.

    `block` is the number of threads of a block, `shared_bytes` its dynamic shared memory in bytes. Raises LadderError
    if no block fits.
    """
    driver = load_cupy().cuda.driver
    kernel.max_dynamic_shared_size_bytes = shared_bytes
    blocks = (
        driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, block, shared_bytes) * multiprocessors()
    )
    if not blocks:
        raise LadderError(
            f"A block of {block} threads with {shared_bytes} bytes of shared memory does not fit on a multiprocessor."
        )
    return blocks


def capture(run: Callable[[], object], stream: Any) -> Callable[[], None]:
    """Capture the work that `run` puts into `stream` as a CUDA graph; returns a function that launches the graph.

    Streams for which `stream` waits are captured too. `run` is called once before the capture, because no kernel may be
    loaded during it. All pending work ends before that call: a non-blocking stream doesn't wait for the default stream,
    in which tables and inputs are copied.
    """
    synchronize()
    with stream:
        run()
        synchronize()
        stream.begin_capture()
        run()
        graph = stream.end_capture()
    return functools.partial(launch, graph, run)


def launch(graph: Any, run: Callable[[], object]) -> None:
    """Launch a graph. `run` isn't called: it keeps the arrays alive, of which the graph only has the addresses."""
    graph.launch()


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
    """An array in the GPU's memory, its contents undefined."""
    return load_cupy().empty(shape, dtype)


def empty_pinned(shape: int | tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """An array in pinned host memory, its contents undefined."""
    load_cupy()
    import cupyx

    return cupyx.empty_pinned(shape, dtype)


def lock_pages(array: np.ndarray) -> None:
    """Page-lock a host array for as long as it lives, so that all GPUs can read and write it."""
    runtime, address = load_cupy().cuda.runtime, array.ctypes.data
    runtime.hostRegister(address, array.nbytes, 1)  # cudaHostRegisterPortable
    weakref.finalize(array, runtime.hostUnregister, address)


def copy_in(array: Any, values: np.ndarray, stream: Any) -> None:
    """Copy values from pinned host memory to an array, in a stream. CuPy's own copy can't be captured in a graph."""
    runtime = load_cupy().cuda.runtime
    pointers = array.data.ptr, values.ctypes.data
    runtime.memcpyAsync(*pointers, array.nbytes, runtime.memcpyHostToDevice, stream.ptr)


def copy_out(array: Any, values: np.ndarray, stream: Any) -> None:
    """Copy an array to values in pinned host memory, in a stream. CuPy's own copy can't be captured in a graph."""
    runtime = load_cupy().cuda.runtime
    pointers = values.ctypes.data, array.data.ptr
    runtime.memcpyAsync(*pointers, array.nbytes, runtime.memcpyDeviceToHost, stream.ptr)
