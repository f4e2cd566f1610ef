"""A data set of handwritten digits in four IDX files: images and labels, for training and for testing."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ladder.data import idx
from ladder.errors import LadderError
from ladder.records import checksums

SIDE, CLASSES = 28, 10  # pixels along the side of an image, and the number of digits

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
FILES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)


@dataclass(frozen=True)
class Dataset:
    """Images, shape (n, 28, 28), with bright strokes on a background of 0; labels, shape (n,), 0 to 9; all uint8."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    def test_set(self, images: int) -> tuple[np.ndarray, np.ndarray]:
        """The first `images` test images, or all if there are fewer, and their labels.

        `images` is the number of training images, so the evaluation of an epoch never takes longer than its training.
        """
        return self.test_images[:images], self.test_labels[:images]


def load(folder: Path | str) -> Dataset:
    """The data set in `folder`. Raises LadderError if a file is missing or corrupt, or if two files disagree."""
    folder = Path(folder)
    train = load_pair(folder / TRAIN_IMAGES, folder / TRAIN_LABELS)
    return Dataset(*train, *load_pair(folder / TEST_IMAGES, folder / TEST_LABELS))


def load_pair(image_path: Path, label_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images and their labels. Raises LadderError unless there is one valid label for each image."""
    for path in (image_path, label_path):
        if mismatch := checksums.mismatch(path):
            raise LadderError(f"{path} has changed: {mismatch}; delete it and fetch the data set again.")
    images, labels = idx.read(image_path), idx.read(label_path)
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
