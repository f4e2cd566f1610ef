"""One thread pool for Numba and OpenBLAS: OpenBLAS runs its parallel jobs on Numba's OpenMP threads.

The idle threads of each runtime spin for a while and delay the other runtime's working threads on the same cores. This
delay costs ten times the gain of parallel elementwise operations. OpenBLAS since 0.3.27 accepts a callback that runs
its jobs on other threads; an OpenBLAS built for OpenMP shares the threads anyway.
"""

import ctypes

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from threadpoolctl import threadpool_info

# The names that OpenBLAS's function may have: SciPy's wheels prefix most symbols, and builds with 64-bit integers add a
# suffix.
SETTER_NAMES = [
    f"{prefix}openblas_set_threads_callback_function{suffix}" for prefix in ("", "scipy_") for suffix in ("", "64_")
]


@intrinsic
def call_job(context, do_job, index, data, buffer_index):
    """Call OpenBLAS's C function `do_job(int index, void *data, int buffer_index)`, given by its address."""

    def generate(context, builder, signature, arguments):
        do_job, index, data, buffer_index = arguments
        int32, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [int32, pointer, int32]).as_pointer()
        builder.call(builder.inttoptr(do_job, function), [index, builder.inttoptr(data, pointer), buffer_index])
        return context.get_dummy_value()

    return types.void(types.intp, types.int32, types.intp, types.int32), generate


# With an explicit signature, Numba compiles run_jobs, or loads it from the cache, on import and not in the callback.
@numba.njit(types.void(types.intp, types.intp, types.intp, types.intp, types.int32), parallel=True, cache=True)
def run_jobs(do_job, count, data_size, data, buffer_index):
    """Run `count` jobs on as many threads, since they wait for each other; each has `data_size` bytes of `data`."""
    for i in numba.prange(count):
        call_job(do_job, numba.int32(i), data + i * data_size, buffer_index)


@numba.cfunc(types.void(types.int32, types.intp, types.int32, types.intp, types.intp, types.int32), cache=True)
def callback(sync, do_job, count, data_size, data, buffer_index):
    """OpenBLAS's `openblas_threads_callback`: it returns when all jobs are done."""
    run_jobs(do_job, count, data_size, data, buffer_index)


def share_threads(threads):
    """Set Numba's threads, and let every loaded OpenBLAS use them; returns whether all loaded BLAS libraries do.

    An OpenBLAS with more threads than Numba must keep its threads: its jobs wait for each other, and would deadlock on
    fewer threads.
    """
    numba.set_num_threads(threads)
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    setters = [callback_setter(pool["filepath"]) for pool in pools if pool["num_threads"] <= threads]
    if len(setters) < len(pools) or None in setters:
        return False
    for set_callback in setters:
        set_callback(ctypes.c_void_p(callback.address))
    return True


def callback_setter(path):
    """The library's function that takes the callback, or None."""
    library = ctypes.CDLL(path)
    return next((getattr(library, name) for name in SETTER_NAMES if hasattr(library, name)), None)
