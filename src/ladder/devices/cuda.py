"""One NVIDIA GPU: arrays in its memory, CUDA events as the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ladder import cuda
from ladder.cuda import clock
from ladder.devices.gpu import Gpu

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Cuda(Gpu):
    """The first GPU that is visible to the process."""

    SHARES_MACHINE = True  # other cases may be timed at the same time on other GPUs

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """An array in the GPU's memory, its contents undefined."""
        return cuda.empty(shape, dtype)

    def staging_arrays(self, arrays: Mapping[str, Any], pinned: bool = True) -> Mapping[str, np.ndarray]:
        """Arrays like these in the host's memory, `pinned` or not; pinning gibibytes takes seconds."""
        empty = cuda.empty_pinned if pinned else np.empty
        return {name: empty(array.shape, array.dtype) for name, array in arrays.items()}

    def upload(self, staged: Mapping[str, np.ndarray], arrays: Mapping[str, Any]) -> None:
        """Copy staged arrays to the arrays of the same names on the GPU."""
        for name, array in arrays.items():
            array.set(staged[name])

    def to_host(self, array: Any) -> np.ndarray:
        """A copy in the host's memory."""
        return array.get()

    def transfers(
        self, staged: Mapping[str, np.ndarray], problem: SimpleNamespace
    ) -> list[tuple[str, Callable[[], None]]]:
        """The copies `to device` of the staged inputs and `to host` of all outputs."""
        results, inputs = self.staging_arrays(problem.outputs), {name: problem.inputs[name] for name in staged}

        def download() -> None:
            for name, array in problem.outputs.items():
                array.get(out=results[name])

        return [("to device", lambda: self.upload(staged, inputs)), ("to host", download)]

    def stopwatch(self, run: Callable[[], object]) -> float:
        """Seconds of GPU work of `run`, by CUDA events."""
        return clock.stopwatch(run)

    def require_finished(self, run: Callable[[], object]) -> None:
        """Refuse a run that leaves work in a stream for which the current one doesn't wait. Raises LadderError."""
        clock.require_finished(run)
