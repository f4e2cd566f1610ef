"""The driver's arguments for a tensor map, and the sentence if it refuses."""

from types import SimpleNamespace

import numpy as np
import pytest

from ladder.cuda import driver, tensor_map
from ladder.errors import LadderError

SHAPE, STRIDES, BOX = (512, 5, 4), (1024, 5120), (64, 8, 6)


def answering(status, asked):
    """A driver that keeps its arguments, and returns a status."""

    def encode(*arguments):
        asked.append(arguments)
        return status

    return lambda: SimpleNamespace(cuTensorMapEncodeTiled=encode)


def test_a_tensor_map_is_aligned_and_is_told_every_axis(monkeypatch):
    asked = []
    monkeypatch.setattr(driver, "library", answering(0, asked))
    found = tensor_map.encode(4096, np.dtype("uint16"), SHAPE, STRIDES, BOX)
    place, kind, rank, address, shape, strides, box, steps, *how = asked[0]
    assert found.size == 1
    assert found.nbytes == 128
    assert found.ctypes.data == place.value
    assert place.value % 64 == 0
    assert (rank, address.value) == (3, 4096)
    assert [tuple(every) for every in (shape, strides, box, steps)] == [SHAPE, STRIDES, BOX, (1, 1, 1)]
    # As cuda.h counts them: UINT16, not interleaved, a swizzle of 128 bytes, lines of 256 bytes, zeros outside.
    assert (kind, *how) == (1, 0, 3, 3, 0)
    tensor_map.encode(4096, np.dtype("float32"), SHAPE, STRIDES, BOX)
    assert asked[1][1] == 7, "FLOAT32"


def test_what_the_driver_refuses_is_told(monkeypatch):
    monkeypatch.setattr(driver, "library", answering(1, []))
    with pytest.raises(LadderError, match=r"refuses a tensor map of \(512, 5, 4\) numbers .*: status 1"):
        tensor_map.encode(4096, np.dtype("uint16"), SHAPE, STRIDES, BOX)
