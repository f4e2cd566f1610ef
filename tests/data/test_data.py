"""IDX files, the offline digits, and loading a data set."""

import itertools
import shutil
import struct

import numpy as np
import pytest

from ladder.data import dataset, idx
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError

DTYPES = ["uint8", "int8", "int16", "int32", "float32", "float64"]
EXTENTS = [0, 1, 17, 65]
SHAPES = [
    *itertools.product(EXTENTS, repeat=1),
    *itertools.product(EXTENTS, repeat=2),
    *itertools.product([0, 1, 17], repeat=3),
    (2, 1, 3, 2, 1),
    (1,) * 64,  # the most dimensions that NumPy allows
]


def random_array(shape, dtype):
    """An array of random bytes, all of which are valid elements, including NaNs and infinities."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(np.random.default_rng(size).bytes(size), dtype).reshape(shape)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "array-idx"


# IDX


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_comes_back_with_its_shape_dtype_and_bytes(path, dtype):
    for shape in SHAPES:
        array = random_array(shape, dtype)
        idx.write(path, array)
        read_back = idx.read(path)
        assert read_back.shape == shape
        assert read_back.dtype == array.dtype
        assert read_back.dtype.isnative
        assert read_back.flags.writeable
        assert read_back.tobytes() == array.tobytes()
    assert list(path.parent.iterdir()) == [path]


def test_a_file_has_a_header_and_big_endian_elements(path):
    idx.write(path, np.array([[1, -2, 3]], np.int16))
    assert path.read_bytes() == bytes.fromhex("00000b02 00000001 00000003 0001 fffe 0003")
    idx.write(path, np.array([1.0, -2.0], np.float64))
    assert path.read_bytes() == bytes.fromhex("00000e01 00000002 3ff0000000000000 c000000000000000")


@pytest.mark.parametrize("order", ["<", ">"])
def test_any_byte_order_and_any_strides_are_written_alike(path, order):
    array = np.arange(17 * 65, dtype=np.int32).reshape(17, 65)
    idx.write(path, array.astype(array.dtype.newbyteorder(order)).T[::-2])
    np.testing.assert_array_equal(idx.read(path), array.T[::-2])


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint16", "float16", "complex64", "U3", "object", "M8[s]"])
def test_a_dtype_that_idx_lacks_is_refused(path, dtype):
    with pytest.raises(LadderError, match="IDX has no dtype"):
        idx.write(path, np.zeros(3, dtype))
    assert not path.exists()


@pytest.mark.parametrize("shape", [(), (0, 1 << 32)])
def test_a_shape_that_idx_lacks_is_refused(path, shape):
    with pytest.raises(LadderError, match="IDX has no shape"):
        idx.write(path, np.zeros(shape, np.uint8))
    assert not path.exists()


def test_a_file_that_cannot_be_written_is_refused(path):
    path.touch()
    with pytest.raises(LadderError, match=r"array-idx/file can't be written: "):
        idx.write(path / "file", np.zeros(1, np.uint8))


def test_a_file_that_cannot_be_read_is_refused(path):
    for unreadable in (path, path.parent):
        with pytest.raises(LadderError, match=f"{unreadable} can't be read"):
            idx.read(unreadable)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (17,), (3, 5), (0, 17), (2, 1, 3)])
def test_every_wrong_length_is_refused(path, dtype, shape):
    """Neither a prefix of a file nor a file with additional bytes is valid."""
    idx.write(path, random_array(shape, dtype))
    raw = path.read_bytes()
    for wrong_bytes in [raw[:length] for length in range(len(raw))] + [raw + b"\0", raw + raw]:
        path.write_bytes(wrong_bytes)
        with pytest.raises(LadderError, match=f"{path} is not a valid IDX file"):
            idx.read(path)


@pytest.mark.slow
def test_every_wrong_byte_in_the_header_is_refused(path):
    """Any change of a header byte is refused, unless it describes an equally long file of another dtype."""
    idx.write(path, np.arange(1, 16, dtype=np.int32).reshape(3, 5))
    raw = path.read_bytes()
    equally_long = {bytes([0, 0, 0x0D, 2])}  # float32
    for position, value in itertools.product(range(12), range(256)):
        wrong_bytes = raw[:position] + bytes([value]) + raw[position + 1 :]
        path.write_bytes(wrong_bytes)
        if wrong_bytes == raw or wrong_bytes[:4] in equally_long:
            idx.read(path)
        else:
            with pytest.raises(LadderError, match=f"{path} is not a valid IDX file"):
                idx.read(path)


# A header is two bytes of 0, the code of a dtype, the rank, and the extents as big-endian integers of 32 bits.
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "0 bytes"),
        (b"\x1f\x8b\x08\x00" + bytes(20), "0x1f8b0800"),  # compressed by gzip
        (struct.pack(">HBBI", 0, 0x0A, 1, 1) + b"x", "0x0a is not the code"),
        (struct.pack(">HBB", 0, 0x08, 0) + b"x", "rank is 0"),
        (struct.pack(">HBB65I", 0, 0x08, 65, *[1] * 65) + b"x", "rank is 65"),
        (struct.pack(">HBB", 0, 0x08, 3) + b"x" * 11, "inside its header of 16"),
        (struct.pack(">HBBII", 0, 0x0B, 2, 3, 5) + bytes(29), "has 41 bytes .* takes 42"),
        (struct.pack(">HBBII", 0, 0x0B, 2, 3, 5) + bytes(31), "has 43 bytes .* takes 42"),
        (struct.pack("<HBBI", 0, 0x08, 1, 3) + b"xyz", "takes 50331656"),  # little-endian: an extent of 3 << 24
        (struct.pack(">HBB4I", 0, 0x0E, 4, *[0xFFFFFFFF] * 4), "takes"),
        (struct.pack(">HBB4I", 0, 0x0E, 4, 0, *[0xFFFFFFFF] * 3), "NumPy has no shape"),
    ],
)
def test_the_message_says_what_is_wrong(path, raw, reason):
    path.write_bytes(raw)
    with pytest.raises(LadderError, match=f"{path} is not a valid IDX file: .*{reason}"):
        idx.read(path)


# The offline digits


@pytest.fixture(scope="module")
def digits_folder(tmp_path_factory):
    """A folder with the offline digits, in place of the fixture of all tests: `write` must make it with its parents."""
    folder = tmp_path_factory.mktemp("digits") / "new" / "folder"
    write_digits(folder)
    return folder


def test_digits_have_the_shape_of_mnist_and_equally_frequent_labels(digits_folder):
    """Of the 1797 images, a fifth are for testing."""
    assert {path.name for path in digits_folder.iterdir()} == {*dataset.FILES, "SHA256SUMS"}
    data_set = dataset.load(digits_folder)
    for images, labels, count in (
        (data_set.train_images, data_set.train_labels, 1437),
        (data_set.test_images, data_set.test_labels, 360),
    ):
        assert images.shape == (count, 28, 28)
        assert images.dtype == labels.dtype == np.uint8
        assert labels.shape == (count,)
        shares = np.bincount(labels, minlength=10) / count
        assert shares.min() > 0.09
        assert shares.max() < 0.11


def test_digits_are_bright_strokes_within_a_dark_margin(digits_folder):
    images = dataset.load(digits_folder).train_images
    assert images.min() == 0
    assert images.max() == 255
    assert images.max(axis=(1, 2)).min() > 200
    margin = images.copy()
    margin[:, 4:24, 4:24] = 0
    assert not margin.any()
    assert 0.05 < images.mean() / 255 < 0.25


def test_digits_are_resampled_upright_and_in_place(digits_folder):
    """The means over a grid of 8 × 8 are close to the original pixels; each image is compared with the nearest one."""
    from sklearn.datasets import load_digits

    data_set = dataset.load(digits_folder)
    images = np.concatenate([data_set.train_images, data_set.test_images])
    labels = np.concatenate([data_set.train_labels, data_set.test_labels])
    # The inner 20 × 20 pixels, doubled to 40 × 40, are 8 × 8 blocks of 5 × 5.
    fine_images = np.repeat(np.repeat(images[:, 4:24, 4:24] / 255 * 16, 2, axis=1), 2, axis=2)
    coarse_images = fine_images.reshape(-1, 8, 5, 8, 5).mean(axis=(2, 4)).reshape(-1, 64)
    original_images, original_labels = load_digits(return_X_y=True)
    distances = (coarse_images**2).sum(1)[:, None] - 2 * coarse_images @ original_images.T + (original_images**2).sum(1)
    nearest_indices = distances.argmin(axis=1)
    assert len(np.unique(images, axis=0)) == 1797  # no image is missing or in both parts
    assert len(np.unique(nearest_indices)) > 1790  # some originals are nearly the same
    np.testing.assert_array_equal(labels, original_labels[nearest_indices])
    assert np.abs(coarse_images - original_images[nearest_indices]).mean() < 1


def test_digits_are_the_same_each_time(digits_folder, tmp_path):
    write_digits(tmp_path)
    for name in dataset.FILES:
        assert (tmp_path / name).read_bytes() == (digits_folder / name).read_bytes()


def test_a_folder_that_cannot_be_made_is_refused(path):
    path.write_text("in the way")
    with pytest.raises(LadderError, match=f"{path / 'below'}/.* can't be written"):
        write_digits(path / "below")


# Loading


@pytest.fixture
def folder(tmp_path):
    """A synthetic data set of 17 images for training and none for testing."""
    idx.write(tmp_path / dataset.TRAIN_IMAGES, random_array((17, 28, 28), np.uint8))
    idx.write(tmp_path / dataset.TRAIN_LABELS, np.arange(17, dtype=np.uint8) % 10)
    idx.write(tmp_path / dataset.TEST_IMAGES, np.zeros((0, 28, 28), np.uint8))
    idx.write(tmp_path / dataset.TEST_LABELS, np.zeros(0, np.uint8))
    return tmp_path


def test_loading_returns_the_images_and_labels_of_all_files(folder):
    data_set = dataset.load(str(folder))
    np.testing.assert_array_equal(data_set.train_images, random_array((17, 28, 28), np.uint8))
    np.testing.assert_array_equal(data_set.train_labels, np.arange(17) % 10)
    assert data_set.test_images.shape == (0, 28, 28)
    assert data_set.test_labels.shape == (0,)


@pytest.mark.parametrize("name", dataset.FILES)
def test_a_missing_file_is_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(LadderError, match=f"{name} can't be read: No such file"):
        dataset.load(folder)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        (dataset.TRAIN_IMAGES, np.zeros((16, 28, 28), np.uint8)),
        (dataset.TRAIN_IMAGES, np.zeros((17, 28, 28), np.int8)),
        (dataset.TRAIN_IMAGES, np.zeros((17, 28, 27), np.uint8)),
        (dataset.TRAIN_IMAGES, np.zeros((17, 784), np.uint8)),
        (dataset.TRAIN_IMAGES, np.zeros(17, np.uint8)),
        (dataset.TRAIN_LABELS, np.zeros(18, np.uint8)),
        (dataset.TRAIN_LABELS, np.zeros(17, np.int32)),
        (dataset.TRAIN_LABELS, np.zeros((17, 1), np.uint8)),
        (dataset.TRAIN_LABELS, np.full(17, 10, np.uint8)),
        (dataset.TEST_IMAGES, np.zeros((1, 28, 28), np.uint8)),
        (dataset.TEST_LABELS, np.zeros(1, np.uint8)),
    ],
)
def test_a_wrong_shape_type_or_label_is_refused(folder, name, array):
    idx.write(folder / name, array)
    with pytest.raises(LadderError, match=name):
        dataset.load(folder)


@pytest.mark.parametrize("name", dataset.FILES)
def test_a_changed_pixel_or_label_is_refused(digits_folder, name, tmp_path):
    folder = shutil.copytree(digits_folder, tmp_path / "digits")
    dataset.load(folder)
    contents = (folder / name).read_bytes()
    (folder / name).write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
    with pytest.raises(LadderError, match=f"{name} has changed: .* delete it and fetch the data set again"):
        dataset.load(folder)
