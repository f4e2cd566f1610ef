"""The NVIDIA GPUs that a process works on, through CuPy: those that it sees, of which one is current."""

import functools

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


@functools.cache
def numbers():
    """The numbers of the cards that this process sees."""
    return range(load_cupy().cuda.runtime.getDeviceCount())


def synchronize():
    """Wait until all cards have finished all work given to them."""
    for number in numbers():
        load_cupy().cuda.Device(number).synchronize()


def name(number=None):
    """The UUID of a card, by default the current one, as the driver's tools write it, GPU-...

    NVML is asked by the card's place on the bus; without NVML that place is the name. CuPy's UUID ends before a byte of
    zero.
    """
    cupy = load_cupy()
    number = cupy.cuda.Device().id if number is None else number
    place = cupy.cuda.runtime.deviceGetPCIBusId(number)
    return nvidia.uuid_at(place) or place


def energy():
    """The energy in J that all cards have taken since their drivers were loaded; None where one doesn't count it."""
    counted = [nvidia.energy(name(number)) for number in numbers()]
    return None if None in counted else sum(counted)
