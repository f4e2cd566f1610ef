"""The NVIDIA GPU that a process works on, through CuPy."""

import functools
import uuid

from ladder.errors import LadderError
from ladder.machine import nvidia


def import_cupy():
    """CuPy. Raises LadderError where it isn't installed."""
    try:
        import cupy
        import cupyx  # noqa: F401
    except ImportError:
        require_card()
        raise LadderError("CuPy is not installed: `pip install 'ladder[gpu]'` brings it.") from None
    return cupy


@functools.cache
def load_cupy():
    """CuPy, once it is known that there is a GPU that it can use. Raises LadderError with what is in the way."""
    cupy = import_cupy()
    try:
        cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.Device().use()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        cards = nvidia.gpus()
        is_old = "InsufficientDriver" in str(error) and cards  # which CUDA says of no driver too
        hint = f"update the driver, {cards[0]['driver']}" if is_old else "`nvidia-smi` must list a card"
        raise LadderError(f"There is no GPU to work on: CUDA says {error}; {hint}.") from None
    return cupy


def require_card():
    """The names of this machine's cards. Raises LadderError when there is none."""
    if cards := [card["uuid"] for card in nvidia.gpus()]:
        return cards
    raise LadderError("There is no GPU to work on: `nvidia-smi` lists none.")


def synchronize():
    """Wait until the GPU has finished all work given to it."""
    load_cupy().cuda.Device().synchronize()


def name():
    """The card's UUID as the driver's tools write it, GPU-..."""
    cupy = load_cupy()
    return f"GPU-{uuid.UUID(bytes=cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)['uuid'])}"
