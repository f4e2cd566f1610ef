"""Programmatic dependent launches: the driver's arguments, and the overlap of two kernels on a GPU."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from ladder import cuda
from ladder.catalogue import native_sources
from ladder.cuda import dependent_launch, driver, gpus
from ladder.errors import LadderError

ADDRESS, STREAM, FUNCTION = 2**40 + 512, 77, 4096  # made-up pointers to an array, a stream and a kernel
PROGRAMMATIC_STREAM_SERIALIZATION = 6  # the attribute of a launch that may overlap the previous kernel, in cuda.h
# `write` lets the next kernel begin, and writes after that kernel has read or after a tenth of a second. `read` waits
# for `write` only if `waits` is set.
TWO_KERNELS = r"""
#include "ptx/programmatic_launch.cuh"
extern "C" __global__ void write(int *number, int value, volatile int *result) {
  launch_dependents();
  for (int poll = 0; poll < 100000 && *result == -1; ++poll) __nanosleep(1000);
  *number = value;
}
extern "C" __global__ void read(volatile int *number, int *result, int waits) {
  if (waits) wait_for_previous_kernel();
  *result = *number;
}
"""


class Array:
    """A stand-in for an array on the GPU."""

    data = SimpleNamespace(ptr=ADDRESS)


def cupy(capability):
    """The parts of CuPy that a launch uses, on a GPU of this compute capability."""
    device = SimpleNamespace(compute_capability=capability)
    stream = SimpleNamespace(ptr=STREAM)
    return SimpleNamespace(
        ndarray=Array, cuda=SimpleNamespace(Device=lambda: device, get_current_stream=lambda: stream)
    )


def launch_arguments(monkeypatch, status=0, **options):
    """Launch a kernel with three arguments on a stand-in for the driver; returns the arguments that the driver got."""
    received = {}

    def launch(config, function, addresses, extra):
        config = ctypes.cast(config, ctypes.POINTER(dependent_launch.Configuration)).contents
        attribute = config.attributes[0]
        received.update(grid=list(config.grid), block=list(config.block))
        received.update(shared=config.shared_bytes, stream=config.stream)
        received.update(attributes=[(attribute.id, attribute.value)], count=config.attribute_count)
        received.update(function=function.value)
        c_types = ctypes.c_uint64, ctypes.c_int32, ctypes.c_uint64
        pairs = zip(c_types, addresses, strict=True)
        received["arguments"] = [c_type.from_address(address).value for c_type, address in pairs]
        return status

    monkeypatch.setattr(gpus, "load_cupy", lambda: cupy("90"))
    monkeypatch.setattr(driver, "library", lambda: SimpleNamespace(cuLaunchKernelEx=launch))
    kernel = SimpleNamespace(name="convolve", kernel=SimpleNamespace(ptr=FUNCTION))
    arguments = Array(), np.int32(-5), np.uintp(0)
    dependent_launch.launcher(kernel)((17, 2), (384,), arguments, **options)
    return received


def test_the_driver_gets_all_arguments_and_may_start_the_kernel_early(monkeypatch):
    assert launch_arguments(monkeypatch)["shared"] == 0
    assert launch_arguments(monkeypatch, shared_mem=1000) == {
        "grid": [17, 2, 1],
        "block": [384, 1, 1],
        "shared": 1000,
        "stream": STREAM,
        "attributes": [(PROGRAMMATIC_STREAM_SERIALIZATION, 1)],
        "count": 1,
        "function": FUNCTION,
        "arguments": [ADDRESS, -5, 0],
    }


def test_structures_are_as_large_as_the_drivers():
    """The sizes of CUlaunchAttribute and CUlaunchConfig in cuda.h."""
    assert ctypes.sizeof(dependent_launch.Attribute) == 72
    assert ctypes.sizeof(dependent_launch.Configuration) == 56


def test_a_refusal_of_the_driver_is_an_error(monkeypatch):
    with pytest.raises(LadderError, match=r"refuses to launch convolve on \(17, 2\) blocks: status 1"):
        launch_arguments(monkeypatch, status=1)


def test_older_gpus_launch_the_kernel_as_usual(monkeypatch):
    monkeypatch.setattr(gpus, "load_cupy", lambda: cupy("89"))
    kernel = SimpleNamespace()
    assert dependent_launch.launcher(kernel) is kernel


@pytest.mark.gpu
@pytest.mark.parametrize("in_graph", [False, True])
def test_a_kernel_begins_early_and_reads_new_values_after_waiting(in_graph):
    """`write` replaces 0 by 5. Without waiting, `read` gets the 0 on GPUs of compute capability 9.0 or more."""
    library = cuda.load_cupy()
    folders = tuple(f"-I{folder}" for folder in native_sources.include_folders())
    module = library.RawModule(code=TWO_KERNELS, options=folders)
    write, read = (module.get_function(name) for name in ("write", "read"))
    can_overlap = int(library.cuda.Device().compute_capability) >= dependent_launch.MIN_CAPABILITY
    stream = library.cuda.Stream(non_blocking=True)
    for waits, expected in ((1, 5), (0, 0 if can_overlap else 5)):
        number, result = library.empty(1, np.int32), library.empty(1, np.int32)

        def run(waits=waits, number=number, result=result):
            number.fill(0)
            result.fill(-1)
            write((1,), (1,), (number, np.int32(5), result))
            dependent_launch.launcher(read)((1,), (1,), (number, result, np.int32(waits)))

        run = cuda.capture(run, stream) if in_graph else run
        with stream:
            run()
        stream.synchronize()
        assert result.get() == expected, waits
