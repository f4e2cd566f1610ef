"""Tensor maps: the arguments that the driver gets, and the error if it refuses."""

from types import SimpleNamespace

import numpy as np
import pytest

from ladder.cuda import driver, tensor_map
from ladder.errors import LadderError

ADDRESS = 4096  # a made-up one
# Elements of an array of uint16, the contiguous axis first; bytes from one row and one plane to the next; a box.
SHAPE, STRIDES, BOX = (512, 5, 4), (1024, 5120), (64, 8, 6)


def driver_returning(status, calls):
    """The loader of a stand-in for the driver, which appends a call's arguments to `calls` and returns `status`."""

    def encode(*arguments):
        calls.append(arguments)
        return status

    return lambda: SimpleNamespace(cuTensorMapEncodeTiled=encode)


def test_a_tensor_map_is_aligned_and_describes_every_axis(monkeypatch):
    calls = []
    monkeypatch.setattr(driver, "library", driver_returning(0, calls))
    result = tensor_map.encode(ADDRESS, np.dtype("uint16"), SHAPE, STRIDES, BOX)
    pointer, dtype, rank, address, shape, strides, box, steps, *modes = calls[0]
    assert result.size == 1
    assert result.nbytes == 128  # sizeof(CUtensorMap)
    assert result.ctypes.data == pointer.value
    assert pointer.value % 64 == 0  # alignof(CUtensorMap)
    assert (rank, address.value) == (3, ADDRESS)
    assert [tuple(axes) for axes in (shape, strides, box, steps)] == [SHAPE, STRIDES, BOX, (1, 1, 1)]
    # Values of cuda.h: UINT16, not interleaved, a swizzle of 128 bytes, promotion to lines of 256 bytes, zeros outside.
    assert (dtype, *modes) == (1, 0, 3, 3, 0)


@pytest.mark.parametrize(  # values of CUtensorMapDataType in cuda.h
    ("element_type", "value"),
    [(np.dtype("uint16"), 1), (np.dtype("float32"), 7), (np.dtype("float64"), 8), ("tf32", 11)],
)
def test_a_tensor_map_has_its_element_type(monkeypatch, element_type, value):
    calls = []
    monkeypatch.setattr(driver, "library", driver_returning(0, calls))
    tensor_map.encode(ADDRESS, element_type, SHAPE, STRIDES, BOX)
    assert calls[0][1] == value


def test_a_refusal_of_the_driver_is_an_error(monkeypatch):
    monkeypatch.setattr(driver, "library", driver_returning(1, []))
    with pytest.raises(LadderError, match=r"refuses a tensor map of \(512, 5, 4\) numbers .*: status 1"):
        tensor_map.encode(ADDRESS, np.dtype("uint16"), SHAPE, STRIDES, BOX)
