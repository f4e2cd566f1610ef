"""One NVIDIA GPU through CuPy: arrays in its memory, CUDA events as the clock, flushing its L2 cache."""

import contextlib
import functools
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ladder.build import binaries, compiler
from ladder.devices import gpus, host
from ladder.devices.cuda_clock import (
    between_events,  # noqa: F401
    event_overhead,  # noqa: F401
    require_finished,  # noqa: F401
    spin,  # noqa: F401
    stopwatch,
)
from ladder.devices.gpus import import_cupy, load_cupy, require_gpu, synchronize
from ladder.devices.host import (
    broadcast,
    by_rank,  # noqa: F401
    command,  # noqa: F401
    conditions,  # noqa: F401
    is_first,  # noqa: F401
    launcher_hint,  # noqa: F401
    receive,  # noqa: F401
    set_variables,  # noqa: F401
    share_start,  # noqa: F401
)
from ladder.errors import LadderError
from ladder.machine import description, nvidia
from ladder.records import locks

# Other cases may be timed at the same time on other GPUs.
SHARES_MACHINE = True
CEILINGS = "cuda"
# Seconds that a GPU works before its state is read.
AT_WORK = 0.1
# Seconds: the minimum for which `energy` repeats a run, the duration of one batch of runs, and the limit for giving up.
REPEATS, BATCH, PATIENCE = 1.0, 0.02, 30.0


def start(case):
    """Import CuPy, which doesn't require a GPU yet. Raises LadderError if it isn't installed."""
    import_cupy()


@contextlib.contextmanager
def lease(count=1):
    """Hold GPUs that no other timed job holds; yields the variable that makes only these visible to a process.

    Raises LadderError if there are fewer.
    """
    uuids = require_gpu()
    if len(uuids) < count:
        raise LadderError(f"The case needs {count} GPUs, but `nvidia-smi` lists {len(uuids)} that it may use.")
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(locks.first_free(uuids)) for _ in range(count)]
        yield {"CUDA_VISIBLE_DEVICES": ",".join(held)}


@contextlib.contextmanager
def translate_errors():
    """A context that turns a lack of GPU memory into a LadderError with the free memory.

    CuPy, CUDA, cuBLAS and PyTorch have no common exception for it, only the words `out of memory` in the message.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if "out of memory" not in str(error).lower():
            raise
        free, total = load_cupy().cuda.runtime.memGetInfo()
        first = str(error).splitlines()[0].rstrip(".")
        raise LadderError(
            f"The GPU is out of memory ({first}): {free} of {total} bytes are free. "
            "Lower the sizes, or end other processes on the GPU, which `nvidia-smi` lists."
        ) from None


def environment(threads):
    """The host's variables, and lazy loading: a kernel at its first launch, in the check, and never all of cuBLAS."""
    return host.environment(threads) | {"CUDA_MODULE_LOADING": "LAZY"}


def empty(shape, dtype):
    """An array in the GPU's memory, its contents undefined."""
    return load_cupy().empty(shape, dtype)


def staging(arrays):
    """Arrays like these in pinned host memory, to be filled and uploaded."""
    load_cupy()
    import cupyx

    return {name: cupyx.empty_pinned(array.shape, array.dtype) for name, array in arrays.items()}


def upload(staged, arrays):
    """Copy staged arrays to the GPU."""
    for name, array in arrays.items():
        array.set(staged[name])


def to_host(array):
    """A copy in the host's memory."""
    return array.get()


def transfers(staged, problem):
    """The copies to and from the GPU, as (phase, function)."""
    results, inputs = staging(problem.outputs), {name: problem.inputs[name] for name in staged}

    def download():
        for name, array in problem.outputs.items():
            array.get(out=results[name])

    return [("to device", lambda: upload(staged, inputs)), ("to host", download)]


def copy_in(array, values, stream):
    """Copy values from pinned host memory to an array, in a stream. CuPy's own copy can't be captured in a graph."""
    runtime = load_cupy().cuda.runtime
    pointers = array.data.ptr, values.ctypes.data
    runtime.memcpyAsync(*pointers, array.nbytes, runtime.memcpyHostToDevice, stream.ptr)


def copy_out(array, values, stream):
    """Copy an array to values in pinned host memory, in a stream. CuPy's own copy can't be captured in a graph."""
    runtime = load_cupy().cuda.runtime
    pointers = values.ctypes.data, array.data.ptr
    runtime.memcpyAsync(*pointers, array.nbytes, runtime.memcpyDeviceToHost, stream.ptr)


def lock_pages(array):
    """Page-lock a host array for all GPUs, as long as it lives, so that they can read and write it."""
    runtime, address = load_cupy().cuda.runtime, array.ctypes.data
    runtime.hostRegister(address, array.nbytes, 1)  # cudaHostRegisterPortable
    weakref.finalize(array, runtime.hostUnregister, address)


def captured(run, stream):
    """A function that launches, as one CUDA graph, the work that `run` puts into a stream and those it waits for.

    `run` is called once before, since nothing may be loaded during capture. All pending work ends before that: a
    non-blocking stream doesn't wait for the default one, in which tables and inputs are copied.
    """
    synchronize()
    with stream:
        run()
        synchronize()
        stream.begin_capture()
        run()
        graph = stream.end_capture()
    return functools.partial(launch, graph, run)


def launch(graph, run):
    """Launch a graph; `run` keeps the arrays alive, since the graph only has their addresses."""
    graph.launch()


def flusher():
    """A function that flushes the L2 cache, in stream order, by writing twice its size."""
    cupy = load_cupy()
    buffer = cupy.empty(2 * cupy.cuda.Device().attributes["L2CacheSize"], np.uint8)
    state = iter(range(2**62))
    return lambda: buffer.fill(next(state) % 251)


def read_threads():
    """The host's threads and CPUs, and the GPU."""
    cupy = load_cupy()
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return host.read_threads() | {
        "gpu": {
            "name": properties["name"].decode(),
            "uuid": gpus.name(),
            "architecture": architecture(),
            "cache_bytes": properties["l2CacheSize"],
        }
    }


def state(run, timed=None, same=broadcast):
    """The GPU's clocks, temperature, power and throttling at work: `run` is repeated until they have been read.

    An idle GPU would lower its clocks between the samples and the reading. With several ranks `timed` is their
    stopwatch, and `same` gives all of them the first one's decision on whether to continue.
    """
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(state_at_work, gpus.name())
        while not same(answer.done()):
            (timed or stopwatch)(run)
    return answer.result()


def state_at_work(uuid):
    """The state of a GPU that has worked for a while."""
    time.sleep(AT_WORK)
    return nvidia.state(uuid)


def energy(run, timed=stopwatch, same=broadcast):
    """{"joules": energy of a run, "sustained": seconds of one}, over repeats of at least a second.

    The energy is the sum of the counters of all visible GPUs; if one lacks a counter, the result is empty. The runs
    follow each other with warm caches, so a GPU may reach its power limit. A counter changes every few hundredths of a
    second, so both readings are taken right after a change. `timed` and `same` are as in `state`.
    """
    if gpus.energy() is None:
        return {}
    batch = same(max(1, round(BATCH / max(timed(run), 1e-6))))
    begin, _, _ = repeat(run, batch, gpus.energy, 0.0, same)
    end, runs, sustained = repeat(run, batch, gpus.energy, REPEATS, same)
    return {"joules": (end - begin) / runs, "sustained": sustained} if None not in (begin, end) else {}


def repeat(run, batch, counter, seconds, same):
    """Repeat `run` for `seconds`, then until the counter changes.

    Returns the counter's value, None if it never changed, the number of runs, and the seconds of one run before the
    first reading: a reading takes milliseconds, in which the GPU idles.
    """
    start, runs, before, sustained = time.monotonic(), 0, None, None
    while True:
        for _ in range(batch):
            run()
        synchronize()
        runs, spent = runs + batch, time.monotonic() - start
        if same(spent < seconds):
            continue
        sustained = sustained or spent / runs
        now = counter()
        if same(before not in (None, now)):
            return now, runs, sustained
        if same(spent > seconds + PATIENCE):
            return None, runs, sustained
        before = now


def clocks(variables):
    """The CPUs' clocks and the state of the first GPU that `variables` select, see `description.clocks`."""
    return description.clocks(variables["CUDA_VISIBLE_DEVICES"].partition(",")[0])


def require_threads(case_threads, runtime, threads):
    """Accept any: the kernel determines a GPU's threads."""


@functools.cache
def architecture():
    """The architecture for which the GPU's binaries are compiled, as in sm_90."""
    return f"sm_{load_cupy().cuda.Device().compute_capability}"


@functools.cache
def multiprocessors():
    """The number of multiprocessors of the GPU."""
    return load_cupy().cuda.Device().attributes["MultiProcessorCount"]


@functools.cache
def kernel(workload, variant, name, dtype, is_cooperative=False, **tuning):
    """A kernel of a variant's CUDA source, compiled with these constants.

    The blocks of a cooperative kernel all run at once and may wait for each other (`include/grid.cuh`).
    """
    slug = binaries.slug(workload, variant, dtype, tuning)
    return module(compiler.ensure(architecture(), workload, variant, slug), is_cooperative).get_function(name)


def blocks_at_once(kernel, block, shared):
    """The number of blocks that the GPU runs at once, by the driver; `shared` is the dynamic shared memory in bytes.

    Raises LadderError if not even one fits.
    """
    driver = load_cupy().cuda.driver
    kernel.max_dynamic_shared_size_bytes = shared
    blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, block, shared) * multiprocessors()
    if not blocks:
        raise LadderError(f"A block of {block} threads with {shared} bytes of shared memory fits no multiprocessor.")
    return blocks


@functools.cache
def module(path, is_cooperative=False):
    """A loaded binary."""
    return load_cupy().RawModule(path=str(path), enable_cooperative_groups=is_cooperative)
