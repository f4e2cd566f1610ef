"""What the devices with NVIDIA GPUs share: leases, the flushing of caches, the GPUs' state and energy."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import numpy as np

from ladder import cuda
from ladder.cuda import gpus
from ladder.devices.host import Host
from ladder.errors import LadderError, pluralize
from ladder.machine import description, nvidia
from ladder.records import locks
from ladder.records.case import Case

WARM_UP_SECONDS = 0.1  # for which a GPU works before its state is read
# `energy` repeats a run for at least MIN_SECONDS, in batches of BATCH_SECONDS. It gives up if the counter then doesn't
# change for TIMEOUT seconds.
MIN_SECONDS, BATCH_SECONDS, TIMEOUT = 1.0, 0.02, 30.0


class Gpu(Host):
    """The base class of devices with GPUs; not a device itself. Arrays are in host memory unless overridden."""

    CEILING_DEVICE = "cuda"  # a sample is compared with the ceilings that cases of this device have measured

    @staticmethod
    def require_available(count: int = 1) -> None:
        """Refuse a machine with fewer GPUs that this process may use. Raises LadderError."""
        uuids = gpus.require_gpu()
        if len(uuids) < count:
            raise LadderError(
                f"The case needs {pluralize(count, 'GPU')}, but `nvidia-smi` lists {len(uuids)} that it may use."
            )

    @staticmethod
    @contextlib.contextmanager
    def lease(count: int = 1) -> Iterator[dict[str, str]]:
        """Hold `count` GPUs that no other timed job holds; yields the variable that makes only these visible.

        Raises LadderError if the machine has fewer GPUs.
        """
        Gpu.require_available(count)
        uuids = gpus.require_gpu()
        with contextlib.ExitStack() as stack:
            leased = [stack.enter_context(locks.first_free_lock(uuids)) for _ in range(count)]
            yield {"CUDA_VISIBLE_DEVICES": ",".join(leased)}

    def environment(self, threads: int, overrides: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """The host's variables, and lazy loading: only the kernels that are used are loaded, during the check."""
        return super().environment(threads, overrides) | {"CUDA_MODULE_LOADING": "LAZY"}

    def start(self, case: Case) -> None:
        """Import CuPy, which works without a GPU too. Raises LadderError if CuPy isn't installed."""
        gpus.import_cupy()

    @contextlib.contextmanager
    def translate_errors(self) -> Iterator[None]:
        """A context that turns an error for lack of GPU memory into a LadderError with the free memory.

        The exceptions of CuPy, CUDA, cuBLAS and PyTorch have no common class, only the words `out of memory` in common.
        """
        try:
            yield
        except (MemoryError, RuntimeError) as error:
            if "out of memory" not in str(error).lower():
                raise
            free, total = gpus.load_cupy().cuda.runtime.memGetInfo()
            first_line = str(error).splitlines()[0].rstrip(".")
            raise LadderError(
                f"The GPU is out of memory ({first_line}): {free} of {total} bytes are free. "
                "Lower the sizes, or end other processes on the GPU, which `nvidia-smi` lists."
            ) from None

    def flusher(self) -> Callable[[], None]:
        """A function that flushes the L2 cache of the current GPU in stream order.

        It fills a buffer of twice the cache's size with a new value.
        """
        cupy = gpus.load_cupy()
        buffer = cupy.empty(2 * cupy.cuda.Device().attributes["L2CacheSize"], np.uint8)
        values = iter(range(2**62))
        return lambda: buffer.fill(next(values) % 251)  # a byte, other than that of the previous flush

    def read_threads(self) -> dict[str, Any]:
        """The host's threads and CPUs, and the GPU."""
        cupy = gpus.load_cupy()
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        return super().read_threads() | {
            "gpu": {
                "name": properties["name"].decode(),
                "uuid": gpus.uuid(),
                "architecture": cuda.architecture(),
                "cache_bytes": properties["l2CacheSize"],
            }
        }

    def require_threads(self, case_threads: int, runtime: str | None, threads: Mapping[str, Any]) -> None:
        """Accept any: the kernel determines a GPU's threads."""

    def clocks(self, variables: Mapping[str, str]) -> dict[str, Any]:
        """The CPUs' clocks and the state of the first GPU that `variables` select, see `description.clocks`."""
        return description.clocks(variables["CUDA_VISIBLE_DEVICES"].partition(",")[0])

    def state(self, run: Callable[[], object], start: float) -> dict[str, Any]:
        """The current GPU's clocks, temperature, power and throttling at work: `run` is repeated until they are read.

        Without these runs the GPU would lower its clocks before the reading. `start` is the time, of the monotonic
        clock, since which runs have followed each other. With several ranks, the first decides for all whether to
        continue.
        """
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(state_at_work, gpus.uuid(), start)
            while not self.broadcast(future.done()):
                self.stopwatch(run)
        return future.result()

    def energy(self, run: Callable[[], object]) -> dict[str, float]:
        """{"joules": energy of a run, "sustained": its seconds}, each the mean over at least a second of runs.

        The energy is the sum of the counters of all visible GPUs; if one has no counter, the result is empty. The runs
        follow each other with warm caches, so a GPU may reach its power limit. A counter changes every few hundredths
        of a second, so both readings are taken right after a change. With several ranks, the first decides for all
        whether to continue.
        """
        if gpus.energy() is None:
            return {}
        batch = self.broadcast(max(1, round(BATCH_SECONDS / max(self.stopwatch(run), 1e-6))))
        start_joules, _, _ = repeat(run, batch, gpus.energy, 0.0, self.broadcast)
        end_joules, runs, sustained = repeat(run, batch, gpus.energy, MIN_SECONDS, self.broadcast)
        if start_joules is None or end_joules is None:
            return {}
        return {"joules": (end_joules - start_joules) / runs, "sustained": sustained}


def state_at_work(uuid: str, start: float) -> dict[str, Any]:
    """The state of a GPU once it has worked for WARM_UP_SECONDS since `start`."""
    time.sleep(max(0.0, start + WARM_UP_SECONDS - time.monotonic()))
    return nvidia.state(uuid)


def repeat(
    run: Callable[[], object], batch: int, counter: Callable[[], Any], seconds: float, broadcast: Callable[[Any], Any]
) -> tuple[float | None, int, float]:
    """Repeat `run` for `seconds`, then until the counter changes; `broadcast` passes the first rank's decisions to all.

    The time and the counter are read after each `batch` of runs. Returns the counter's value (None if it never
    changed), the number of runs, and the mean seconds per run. The mean excludes runs after the first reading of the
    counter, because the GPU idles for milliseconds during a reading.
    """
    start, runs, previous_value, sustained = time.monotonic(), 0, None, 0.0
    while True:
        for _ in range(batch):
            run()
        gpus.synchronize()
        runs, elapsed = runs + batch, time.monotonic() - start
        if broadcast(elapsed < seconds):
            continue
        sustained = sustained or elapsed / runs
        value = counter()
        if broadcast(previous_value not in (None, value)):
            return value, runs, sustained
        if broadcast(elapsed > seconds + TIMEOUT):
            return None, runs, sustained
        previous_value = value
