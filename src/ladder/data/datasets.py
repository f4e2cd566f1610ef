"""Handwritten digits as four IDX files: reading, writing, fetching MNIST, and an offline stand-in for it."""

import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ladder.errors import LadderError
from ladder.records.files import write_atomically

SIDE, CLASSES = 28, 10

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


class Expected(NamedTuple):
    """Size in bytes and sha256 (hexadecimal) of a decompressed file."""

    size: int
    sha256: str


FILES = {
    TRAIN_IMAGES: Expected(47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
    TRAIN_LABELS: Expected(60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    TEST_IMAGES: Expected(7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
    TEST_LABELS: Expected(10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
}

IDX_DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
IDX_CODES = {np.dtype(dtype).newbyteorder("="): code for code, dtype in IDX_DTYPES.items()}


@dataclass(frozen=True)
class Dataset:
    """Images (n, 28, 28) with bright strokes on 0 and labels (n,) from 0 to 9, all uint8."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """The array of an IDX file, of any shape of rank 1 to 64, in native byte order.

    The format is the one described with MNIST by LeCun, Cortes and Burges: two zero bytes, a code of the
    dtype, the rank, the extents as big-endian uint32, then the elements, big-endian, in C order. Raises
    LadderError when the file cannot be read, or departs from the format in its header or its length.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise LadderError(f"{path} cannot be read: {error.strerror or error}; fetch the data set first.") from error

    def broken(what: str) -> LadderError:
        return LadderError(f"{path} is not a sound IDX file: {what}; delete it and fetch the data set again.")

    if len(raw) < 4:
        raise broken(f"it has {len(raw)} bytes, fewer than the 4 of the magic number")
    zeros, code, rank = struct.unpack_from(">HBB", raw)
    if zeros:
        raise broken(f"it begins with 0x{raw[:4].hex()} where a magic number begins with two zero bytes")
    if code not in IDX_DTYPES:
        raise broken(f"0x{code:02x} is not the code of a dtype")
    if not 1 <= rank <= 64:
        raise broken(f"its rank is {rank}, outside 1 to 64")
    header = 4 + 4 * rank
    if len(raw) < header:
        raise broken(f"it ends after {len(raw)} bytes, inside its header of {header}")
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    dtype = np.dtype(IDX_DTYPES[code])
    if len(raw) != (size := header + math.prod(shape) * dtype.itemsize):
        raise broken(f"it has {len(raw)} bytes where its shape {shape} of {dtype.name} takes {size}")
    try:
        array = np.frombuffer(raw, dtype, offset=header).reshape(shape)
    except ValueError as error:  # an empty array whose other extents are beyond NumPy
        raise broken(f"NumPy has no shape {shape}") from error
    return array.astype(dtype.newbyteorder("="))


def write_idx(path: str | os.PathLike, array: np.ndarray) -> None:
    """Write `array` as an IDX file, atomically.

    Its rank is at least 1, its dtype uint8, int8, int16, int32, float32 or float64, of either byte order.
    Raises LadderError for another dtype or rank, or when the file cannot be written.
    """
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("=")
    if dtype not in IDX_CODES:
        known = ", ".join(known.name for known in IDX_CODES)
        raise LadderError(f"{path} cannot be written: IDX has no dtype {dtype}; convert to one of {known}.")
    if array.ndim == 0 or max(array.shape) >= 1 << 32:
        raise LadderError(
            f"{path} cannot be written: IDX has no shape {array.shape}; it takes a rank of 1 or more and "
            "extents below 2**32."
        )
    header = struct.pack(f">HBB{array.ndim}I", 0, IDX_CODES[dtype], array.ndim, *array.shape)
    write_atomically(path, header + array.astype(dtype.newbyteorder(">")).tobytes())


def mnist(
    folder: str | os.PathLike,
    mirrors: Sequence[str | os.PathLike],
    attempts: int = 3,
    timeout: float = 30.0,
    progress: bool = True,
    files: Mapping[str, Expected] = FILES,
) -> None:
    """Fetch the four files of MNIST into `folder`, decompressed and with the expected sha256 sums.

    A mirror is a URL (http, https, file) or a folder that holds `{name}.gz`; a folder may hold `{name}`
    instead. They are tried in order, but the one that served a file is asked first for the next. A transfer
    that breaks off, or stalls for `timeout` seconds, is attempted again, `attempts` times in all, and resumed
    from `folder/.partial` where the server allows; a file that is there and right is left alone. Raises
    LadderError when a mirror makes no sense, no mirror has a file, or `folder` cannot be written.
    """
    from ladder.data.download import (
        fetch,  # here, because measuring jobs read data sets and need not wait for `requests`
    )

    for name, expected in files.items():
        used = fetch(Path(folder) / name, expected, mirrors, attempts, timeout, progress)
        mirrors = sorted(mirrors, key=lambda mirror: mirror != used)


def digits(folder: str | os.PathLike) -> None:
    """Write scikit-learn's digits, offline, as the four files of MNIST: 1,437 for training, 360 for testing.

    The images (8 × 8, 0 to 16) are resampled by cubic splines to the 20 × 20 pixels that a digit of MNIST
    occupies, in the middle of 28 × 28 uint8. The split is fixed and keeps the classes' shares. Raises
    LadderError when `folder` cannot be written.
    """
    # Imported here, because they take longer to import than a data set to load.
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    small, labels = load_digits(return_X_y=True)
    small = small.reshape(-1, 8, 8)
    large = zoom(small, (1, 2.5, 2.5), order=3, mode="grid-constant", grid_mode=True)
    images = np.zeros((len(large), SIDE, SIDE), np.uint8)
    images[:, 4:24, 4:24] = np.rint(np.clip(large / 16, 0, 1) * 255)
    labels = labels.astype(np.uint8)
    parts = train_test_split(images, labels, test_size=360, stratify=labels, random_state=0)

    for name, part in zip((TRAIN_IMAGES, TEST_IMAGES, TRAIN_LABELS, TEST_LABELS), parts, strict=True):
        write_idx(Path(folder, name), part)


def load(folder: str | os.PathLike) -> Dataset:
    """The data set in `folder`. Raises LadderError when a file is missing or unsound, or two disagree."""
    folder = Path(folder)
    train = _pair(folder / TRAIN_IMAGES, folder / TRAIN_LABELS)
    return Dataset(*train, *_pair(folder / TEST_IMAGES, folder / TEST_LABELS))


def _pair(image_path: Path, label_path: Path) -> tuple[np.ndarray, np.ndarray]:
    images, labels = read_idx(image_path), read_idx(label_path)
    if images.dtype != np.uint8 or images.shape[1:] != (SIDE, SIDE):
        raise LadderError(
            f"{image_path} holds {images.dtype} of shape {images.shape} where uint8 of shape "
            f"(n, {SIDE}, {SIDE}) is needed; delete it and fetch the data set again."
        )
    if labels.dtype != np.uint8 or labels.ndim != 1 or (labels >= CLASSES).any():
        raise LadderError(
            f"{label_path} does not hold one uint8 label from 0 to {CLASSES - 1} for each image; "
            "delete it and fetch the data set again."
        )
    if len(images) != len(labels):
        raise LadderError(
            f"{image_path} holds {len(images)} images where {label_path} holds {len(labels)} labels; "
            "delete both and fetch the data set again."
        )
    return images, labels
