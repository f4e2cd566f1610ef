"""The arguments of a launch that may begin while the kernel before it ends."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from ladder import cuda
from ladder.catalogue import native_sources
from ladder.cuda import dependent_launch, driver, gpus
from ladder.errors import LadderError

ADDRESS = 2**40 + 512
# The first lets the other begin, and writes once that has read or a tenth of a second is over; the other reads with or
# without waiting.
TWO_KERNELS = r"""
#include "ptx/programmatic_launch.cuh"
extern "C" __global__ void write(int *number, int value, volatile int *found) {
  launch_dependents();
  for (int turn = 0; turn < 100000 && *found == -1; ++turn) __nanosleep(1000);
  *number = value;
}
extern "C" __global__ void read(volatile int *number, int *found, int waits) {
  if (waits) wait_for_previous_kernel();
  *found = *number;
}
"""


class Array:
    """An array on the GPU."""

    data = SimpleNamespace(ptr=ADDRESS)


def cupy(capability):
    """The parts of CuPy that a launch uses, on a GPU of this compute capability."""
    device = SimpleNamespace(compute_capability=capability)
    stream = SimpleNamespace(ptr=77)
    return SimpleNamespace(
        ndarray=Array, cuda=SimpleNamespace(Device=lambda: device, get_current_stream=lambda: stream)
    )


def launched(monkeypatch, status=0, **options):
    """Launch a kernel of three arguments; the driver's arguments, read during the call."""
    told = {}

    def launch(how, function, places, extra):
        how = ctypes.cast(how, ctypes.POINTER(dependent_launch.Configuration)).contents
        allowed = how.attributes[0]
        told.update(grid=list(how.grid), block=list(how.block), shared=how.shared_bytes, stream=how.stream)
        told.update(attributes=[(allowed.id, allowed.value)], count=how.attribute_count, function=function.value)
        kinds = ctypes.c_uint64, ctypes.c_int32, ctypes.c_uint64
        told["arguments"] = [kind.from_address(place).value for kind, place in zip(kinds, places, strict=True)]
        return status

    monkeypatch.setattr(gpus, "load_cupy", lambda: cupy("90"))
    monkeypatch.setattr(driver, "library", lambda: SimpleNamespace(cuLaunchKernelEx=launch))
    kernel = SimpleNamespace(name="convolve", kernel=SimpleNamespace(ptr=4096))
    arguments = Array(), np.int32(-5), np.uintp(0)
    dependent_launch.overlapping(kernel)((17, 2), (384,), arguments, **options)
    return told


def test_the_driver_is_told_all_of_a_launch_and_that_it_may_begin_early(monkeypatch):
    assert launched(monkeypatch)["shared"] == 0
    assert launched(monkeypatch, shared_mem=1000) == {
        "grid": [17, 2, 1],
        "block": [384, 1, 1],
        "shared": 1000,
        "stream": 77,
        "attributes": [(6, 1)],
        "count": 1,
        "function": 4096,
        "arguments": [ADDRESS, -5, 0],
    }


def test_structures_are_as_large_as_the_drivers():
    assert ctypes.sizeof(dependent_launch.Attribute) == 72
    assert ctypes.sizeof(dependent_launch.Configuration) == 56


def test_what_the_driver_refuses_is_told(monkeypatch):
    with pytest.raises(LadderError, match=r"refuses to launch convolve on \(17, 2\) blocks: status 1"):
        launched(monkeypatch, status=1)


def test_a_card_that_cannot_overlap_two_kernels_launches_as_ever(monkeypatch):
    monkeypatch.setattr(gpus, "load_cupy", lambda: cupy("89"))
    kernel = SimpleNamespace()
    assert dependent_launch.overlapping(kernel) is kernel


@pytest.mark.gpu
@pytest.mark.parametrize("in_graph", [False, True])
def test_a_kernel_begins_early_and_reads_what_was_written_once_it_has_waited(in_graph):
    """On a GPU of compute capability 9.0 or more, the kernel that doesn't wait reads the old contents."""
    library = cuda.load_cupy()
    folders = tuple(f"-I{folder}" for folder in native_sources.include_folders())
    module = library.RawModule(code=TWO_KERNELS, options=folders)
    write, read = (module.get_function(name) for name in ("write", "read"))
    can_overlap = int(library.cuda.Device().compute_capability) >= dependent_launch.SINCE
    stream = library.cuda.Stream(non_blocking=True)
    for waits, expected in ((1, 5), (0, 0 if can_overlap else 5)):
        number, found = library.empty(1, np.int32), library.empty(1, np.int32)

        def run(waits=waits, number=number, found=found):
            number.fill(0)
            found.fill(-1)
            write((1,), (1,), (number, np.int32(5), found))
            dependent_launch.overlapping(read)((1,), (1,), (number, found, np.int32(waits)))

        run = cuda.captured(run, stream) if in_graph else run
        with stream:
            run()
        stream.synchronize()
        assert found.get() == expected, waits
