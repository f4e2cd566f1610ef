"""One NVIDIA GPU through CuPy: arrays in its memory, CUDA events as the clock, its L2 cache emptied."""

import contextlib
import functools
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ladder.build import binaries, compiler
from ladder.devices import card, host
from ladder.devices.card import import_cupy, load_cupy, require_card, synchronize
from ladder.devices.cuda_clock import (
    between_events,  # noqa: F401
    event_overhead,  # noqa: F401
    require_finished,  # noqa: F401
    spin,  # noqa: F401
    stopwatch,
)
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

# Others may be timed meanwhile, on other cards.
SHARES_MACHINE = True
CEILINGS = "cuda"
# Seconds that a card works before it is asked for its state.
AT_WORK = 0.1
# Seconds for which `energy` repeats a run at least, of one batch of runs, and after which it gives up.
REPEATS, BATCH, PATIENCE = 1.0, 0.02, 30.0


def start(case):
    """Import CuPy, which asks for no card yet. Raises LadderError where it isn't installed."""
    import_cupy()


@contextlib.contextmanager
def lease(count=1):
    """Hold cards that no other timed job holds; the variable that makes a process see these alone.

    Raises LadderError when there are fewer.
    """
    cards = require_card()
    if len(cards) < count:
        raise LadderError(f"The case works on {count} GPUs, but `nvidia-smi` lists {len(cards)} that it may use.")
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(locks.first_free(cards)) for _ in range(count)]
        yield {"CUDA_VISIBLE_DEVICES": ",".join(held)}


@contextlib.contextmanager
def translate_errors():
    """A context that turns a lack of the card's memory into a LadderError with how much is free.

    CuPy, CUDA, cuBLAS and PyTorch share no exception for it, but these words of its text.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if "out of memory" not in str(error).lower():
            raise
        free, total = load_cupy().cuda.runtime.memGetInfo()
        first = str(error).splitlines()[0].rstrip(".")
        raise LadderError(
            f"The GPU's memory doesn't suffice ({first}): {free} of {total} bytes are free. "
            "Lower the sizes, or end what else works on the card; `nvidia-smi` lists it."
        ) from None


def environment(threads):
    """The host's variables, and lazy loading: a kernel at its first launch, in the check, and never all of cuBLAS."""
    return host.environment(threads) | {"CUDA_MODULE_LOADING": "LAZY"}


def empty(shape, dtype):
    """An array in the GPU's memory, its contents undefined."""
    return load_cupy().empty(shape, dtype)


def staging(arrays):
    """Arrays like these in the host's pinned memory, to be filled and uploaded."""
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
    results, given = staging(problem.outputs), {name: problem.inputs[name] for name in staged}

    def download():
        for name, array in problem.outputs.items():
            array.get(out=results[name])

    return [("to device", lambda: upload(staged, given)), ("to host", download)]


def copy_in(array, values, stream):
    """Copy the host's values, in pinned memory, to an array in a stream. CuPy's own copy can't be part of a graph."""
    runtime = load_cupy().cuda.runtime
    pointers = array.data.ptr, values.ctypes.data
    runtime.memcpyAsync(*pointers, array.nbytes, runtime.memcpyHostToDevice, stream.ptr)


def copy_out(array, values, stream):
    """Copy an array to the host's values, in pinned memory, in a stream. CuPy's own copy can't be part of a graph."""
    runtime = load_cupy().cuda.runtime
    pointers = values.ctypes.data, array.data.ptr
    runtime.memcpyAsync(*pointers, array.nbytes, runtime.memcpyDeviceToHost, stream.ptr)


def lock_pages(array):
    """Page-lock an array of the host for all cards, as long as it lives, so that these read and write it."""
    runtime, address = load_cupy().cuda.runtime, array.ctypes.data
    runtime.hostRegister(address, array.nbytes, 1)  # cudaHostRegisterPortable
    weakref.finalize(array, runtime.hostUnregister, address)


def captured(run, stream):
    """A function that launches as one CUDA graph what `run` puts into a stream, and into others that it waits for.

    It is called once before, since nothing may be loaded while capturing. What is under way ends before that: a stream
    that is non-blocking doesn't wait for the default one, where tables and inputs are copied.
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
    """Launch a graph; `run` keeps the arrays alive, of which the graph has the addresses alone."""
    graph.launch()


def flusher():
    """A function that empties the L2 cache by writing twice its size; what follows in the stream finds it empty."""
    cupy = load_cupy()
    buffer = cupy.empty(2 * cupy.cuda.Device().attributes["L2CacheSize"], np.uint8)
    state = iter(range(2**62))
    return lambda: buffer.fill(next(state) % 251)


def threads_found():
    """The host's threads and CPUs, and the card."""
    cupy = load_cupy()
    found = host.threads_found()
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return found | {
        "gpu": {
            "name": properties["name"].decode(),
            "uuid": card.name(),
            "architecture": architecture(),
            "cache_bytes": properties["l2CacheSize"],
        }
    }


def state(run, timed=None, same=broadcast):
    """The card's clocks, temperature, power and throttling at work: `run` is repeated until the card has answered.

    An idle card would have slowed down between the samples and the answer. Where ranks run together, `timed` is their
    stopwatch, and `same` gives all of them the first one's decision on whether to go on.
    """
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(state_at_work, card.name())
        while not same(answer.done()):
            (timed or stopwatch)(run)
    return answer.result()


def state_at_work(uuid):
    """The state of a card once it has worked for a while."""
    time.sleep(AT_WORK)
    return nvidia.state(uuid)


def energy(run, timed=stopwatch, same=broadcast):
    """{"joules": energy of a run, "sustained": seconds of one}, over repeats of at least a second.

    The energy is that of the counters of all its cards; without one the answer is empty. The runs follow each other
    with warm caches, in which a card may come to its power limit. A counter changes every few hundredths of a second:
    both readings are taken right after a change. `timed` and `same` are as in `state`.
    """
    if card.energy() is None:
        return {}
    batch = same(max(1, round(BATCH / max(timed(run), 1e-6))))
    begin, _, _ = repeated(run, batch, card.energy, 0.0, same)
    end, runs, sustained = repeated(run, batch, card.energy, REPEATS, same)
    return {"joules": (end - begin) / runs, "sustained": sustained} if None not in (begin, end) else {}


def repeated(run, batch, counter, seconds, same):
    """Repeat `run` for some seconds, then on until the counter changes.

    Returns the counter's value, None if it never changed, the number of runs, and the seconds of one before the counter
    was read: this takes milliseconds, in which the card idles.
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
    """The CPUs' clocks and the state of the first card that `variables` lease, see `description.clocks`."""
    return description.clocks(variables["CUDA_VISIBLE_DEVICES"].partition(",")[0])


def require_threads(case_threads, runtime, found):
    """Accept any: a GPU's threads are the kernel's own."""


@functools.cache
def architecture():
    """What the card's binaries are compiled for, as in sm_90."""
    return f"sm_{load_cupy().cuda.Device().compute_capability}"


@functools.cache
def multiprocessors():
    """How many multiprocessors the card has."""
    return load_cupy().cuda.Device().attributes["MultiProcessorCount"]


@functools.cache
def kernel(workload, variant, name, dtype, is_cooperative=False, **tuning):
    """A kernel of a variant's CUDA source, compiled with these constants.

    Where it is cooperative, its blocks all run at once and may wait for each other (`include/grid.cuh`).
    """
    slug = binaries.slug(workload, variant, dtype, tuning)
    return module(compiler.ensure(architecture(), workload, variant, slug), is_cooperative).get_function(name)


def blocks_at_once(kernel, block, shared):
    """How many blocks of so many threads and bytes of dynamic shared memory the card runs at once, by the driver.

    Raises LadderError where not even one fits.
    """
    driver = load_cupy().cuda.driver
    kernel.max_dynamic_shared_size_bytes = shared
    found = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, block, shared) * multiprocessors()
    if not found:
        raise LadderError(f"A block of {block} threads with {shared} bytes of shared memory fits no multiprocessor.")
    return found


@functools.cache
def module(path, is_cooperative=False):
    """A loaded binary."""
    return load_cupy().RawModule(path=str(path), enable_cooperative_groups=is_cooperative)
