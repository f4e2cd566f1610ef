"""An offline stand-in for MNIST: scikit-learn's handwritten digits, as the same four files."""

from pathlib import Path

import numpy as np

from ladder.data import idx
from ladder.data.dataset import FILES, SIDE, TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS
from ladder.records import checksums


def write(folder: Path | str) -> None:
    """Write scikit-learn's digits as the four files of MNIST: 1,437 images for training, 360 for testing.

    The images of 8 × 8 pixels from 0 to 16 are resampled by cubic splines to the 20 × 20 pixels that a digit of MNIST
    occupies, in the middle of 28 × 28 pixels, uint8. The split is fixed and keeps the proportions of the classes.
    Raises LadderError if `folder` can't be written.
    """
    # Here, because they take a second, and most processes that import this module write no digits.
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    small_images, labels = load_digits(return_X_y=True)
    small_images = small_images.reshape(-1, 8, 8)
    large_images = zoom(small_images, (1, 2.5, 2.5), order=3, mode="grid-constant", grid_mode=True)
    images = np.zeros((len(large_images), SIDE, SIDE), np.uint8)
    images[:, 4:24, 4:24] = np.rint(np.clip(large_images / 16, 0, 1) * 255)
    labels = labels.astype(np.uint8)
    arrays = train_test_split(images, labels, test_size=360, stratify=labels, random_state=0)

    for name, array in zip((TRAIN_IMAGES, TEST_IMAGES, TRAIN_LABELS, TEST_LABELS), arrays, strict=True):
        idx.write(Path(folder, name), array)
    checksums.write(folder, FILES)
