"""IDX files, the format of MNIST: arrays of any rank and of six dtypes."""

import math
import struct
from pathlib import Path

import numpy as np

from ladder.errors import LadderError
from ladder.records.files import write_atomically

DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}  # by their codes in a file
CODES = {np.dtype(dtype).newbyteorder("="): code for code, dtype in DTYPES.items()}


def read(path: Path) -> np.ndarray:
    """The array of an IDX file, of any shape of rank 1 to 64, in native byte order.

    LeCun, Cortes and Burges describe the format with MNIST: two zero bytes, one byte each for the code of the dtype and
    for the rank, the extents as big-endian uint32, then the elements, big-endian, in C order. Raises LadderError if the
    file can't be read, or if its header or its length doesn't fit the format.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror or error}; fetch the data set first.") from error

    def invalid(reason: str) -> LadderError:
        return LadderError(f"{path} is not a valid IDX file: {reason}; delete it and fetch the data set again.")

    if len(raw) < 4:
        raise invalid(f"it has {len(raw)} bytes, fewer than the 4 of the magic number")
    zeros, code, rank = struct.unpack_from(">HBB", raw)
    if zeros:
        raise invalid(f"it begins with 0x{raw[:4].hex()} where a magic number begins with two zero bytes")
    if code not in DTYPES:
        raise invalid(f"0x{code:02x} is not the code of a dtype")
    if not 1 <= rank <= 64:
        raise invalid(f"its rank is {rank}, outside 1 to 64")
    header = 4 + 4 * rank  # its length in bytes
    if len(raw) < header:
        raise invalid(f"it ends after {len(raw)} bytes, inside its header of {header}")
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    dtype = np.dtype(DTYPES[code])
    if len(raw) != (size := header + math.prod(shape) * dtype.itemsize):
        raise invalid(f"it has {len(raw)} bytes where its shape {shape} of {dtype.name} takes {size}")
    try:
        array = np.frombuffer(raw, dtype, offset=header).reshape(shape)
    except ValueError as error:  # an empty array with other extents that NumPy doesn't support
        raise invalid(f"NumPy has no shape {shape}") from error
    return array.astype(dtype.newbyteorder("="))


def write(path: Path, array: np.ndarray) -> None:
    """Write `array` as an IDX file, atomically.

    The array's rank is at least 1; its dtype is uint8, int8, int16, int32, float32 or float64, in either byte order.
    Raises LadderError for another dtype or rank, or if the file can't be written.
    """
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("=")
    if dtype not in CODES:
        known = ", ".join(known.name for known in CODES)
        raise LadderError(f"{path} can't be written: IDX has no dtype {dtype}; convert to one of {known}.")
    if array.ndim == 0 or max(array.shape) >= 1 << 32:
        raise LadderError(
            f"{path} can't be written: IDX has no shape {array.shape}; it takes a rank of 1 or more and "
            "extents below 2**32."
        )
    header = struct.pack(f">HBB{array.ndim}I", 0, CODES[dtype], array.ndim, *array.shape)
    write_atomically(path, header + array.astype(dtype.newbyteorder(">")).tobytes())
