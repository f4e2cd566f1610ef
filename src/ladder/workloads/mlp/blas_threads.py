"""One thread pool for Numba and OpenBLAS: OpenBLAS runs its parallel jobs on Numba's OpenMP threads.

The idle threads of each runtime spin for a while. On cores that both runtimes use, they delay the other's working
threads, which cost ten times more than parallel elementwise operations gain. OpenBLAS since 0.3.27 has a callback that
runs its jobs elsewhere; an OpenBLAS built for OpenMP shares the threads anyway.
"""

import ctypes

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from threadpoolctl import threadpool_info

# The name depends on the build: SciPy's wheels prefix most symbols, and builds with 64-bit integers add a suffix.
SETTERS = [
    f"{prefix}openblas_set_threads_callback_function{suffix}" for prefix in ("", "scipy_") for suffix in ("", "64_")
]


@intrinsic
def call_job(context, job, index, data, buffer):
    """Call OpenBLAS's C function `job(int index, void *data, int buffer)`, given by its address."""

    def generate(context, builder, signature, arguments):
        job, index, data, buffer = arguments
        whole, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [whole, pointer, whole]).as_pointer()
        builder.call(builder.inttoptr(job, function), [index, builder.inttoptr(data, pointer), buffer])
        return context.get_dummy_value()

    return types.void(types.intp, types.int32, types.intp, types.int32), generate


# Due to the signature, Numba loads it from the cache when the module is imported; the callback alone wouldn't.
@numba.njit(types.void(types.intp, types.intp, types.intp, types.intp, types.int32), parallel=True, cache=True)
def run_jobs(job, count, size, jobs, buffer):
    """Run `count` jobs concurrently, each on its own thread, since they wait for each other."""
    for i in numba.prange(count):
        call_job(job, numba.int32(i), jobs + i * size, buffer)


@numba.cfunc(types.void(types.int32, types.intp, types.int32, types.intp, types.intp, types.int32), cache=True)
def callback(sync, job, count, size, jobs, buffer):
    """OpenBLAS's `openblas_threads_callback`: it returns when all jobs are done."""
    run_jobs(job, count, size, jobs, buffer)


def share(threads):
    """Set Numba's threads, and let every loaded OpenBLAS use them; whether each loaded BLAS now does.

    An OpenBLAS with more threads must keep its own, since its jobs run concurrently: on fewer threads, they would wait
    for each other forever.
    """
    numba.set_num_threads(threads)
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    setters = [setter(pool["filepath"]) for pool in pools if pool["num_threads"] <= threads]
    if len(setters) < len(pools) or None in setters:
        return False
    for one in setters:
        one(ctypes.c_void_p(callback.address))
    return True


def setter(path):
    """The library's function that takes the callback, or None."""
    library = ctypes.CDLL(path)
    return next((getattr(library, name) for name in SETTERS if hasattr(library, name)), None)
