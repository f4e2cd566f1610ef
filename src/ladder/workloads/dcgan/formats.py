"""The file formats of the earlier study: networks, latents, and pictures as text or in a grid.

- A network is raw little-endian float32 in the order of `layout`; the file's size determines the number of channels.
- Latents are a text: the number of images, then 100 numbers per image.
- Pictures are a text, which has the number of images and then, per image, a line of 64 x 64 x 3 numbers (`%.4f `); or a
  BMP or PNG, which has a square grid of all images, row by row without gaps. Empty cells are black, and a value v
  becomes (v + 1) / 2 * 255, truncated.
"""

import codecs
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ladder.errors import LadderError
from ladder.workloads.dcgan import layout

MAX_CHANNELS = 4096
MAX_GRID_IMAGES = 128**2
MAX_DIGITS = 18  # of a number of images, so that it fits in 64 bits
GRID_SUFFIXES = (".bmp", ".png")
SUFFIXES = (".txt", *GRID_SUFFIXES)
BY_IMAGE = ("latents",)  # inputs with a row for each image
# The variant and its tuning by device; the host's needs no Numba, so it starts faster.
VARIANTS = {"offload": ("home", {"streams": 2, "batch": 512}), "host": ("host", {})}


def read(network, latents):
    """The sizes of a case and its inputs by name, from two files. Raises LadderError if one of them is invalid."""
    weights, channels = read_network(network)
    values = read_latents(latents)
    sizes = {"images": len(values), "channels": channels}
    return SimpleNamespace(sizes=sizes, inputs={"network": weights, "latents": values})


def read_network(path):
    """A network (count,), float32, and its channels."""
    raw = read_bytes(path)
    channels_by_size = {4 * layout.count(channels): channels for channels in range(8, MAX_CHANNELS + 1, 8)}
    channels = channels_by_size.get(len(raw))
    if channels is None:
        nearest = min(channels_by_size, key=lambda size: abs(size - len(raw)))
        raise LadderError(
            f"{path} has {len(raw)} bytes, which no network has: one of {channels_by_size[nearest]} channels has "
            f"{nearest}, one of {layout.CHANNELS} has {4 * layout.count(layout.CHANNELS)}. Is it truncated, or another "
            "file?"
        )
    network = np.frombuffer(raw, "<f4").astype(np.float32)
    for name, array in layout.arrays(network, channels).items():
        if not np.isfinite(array).all():
            raise LadderError(f"{path} is broken: its array {name} has numbers that are infinite or not a number.")
        if name.endswith("variance") and (array < 0).any():
            raise LadderError(f"{path} is broken: its array {name} has variances below 0. Is it another file?")
    return network, channels


def read_latents(path):
    """The latents (images, 100), float32."""
    words = read_text(path).split()
    if not words or not words[0].isdigit() or len(words[0]) > MAX_DIGITS or int(words[0]) < 1:
        raise LadderError(
            f"{path} must begin with the number of images, a whole number of at least 1, not with {first_word(words)}."
        )
    images, count = int(words[0]), int(words[0]) * layout.LATENT
    if len(words) - 1 != count:
        raise LadderError(
            f"{path} has {len(words) - 1} numbers after the first, but {images} images have {count}, "
            f"{layout.LATENT} each, with blanks between them."
        )
    values = np.fromiter(map(parse_number, words[1:]), np.float64, count)
    with np.errstate(over="ignore"):
        latents = values.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(latents))
    if len(bad):
        image, index = divmod(int(bad[0]), layout.LATENT)
        word = words[1 + int(bad[0])]
        raise LadderError(
            f"{path} has {word[:20]!r} as number {index + 1} of image {image + 1}: {invalid_number_reason(word)}."
        )
    return latents.reshape(images, layout.LATENT)


def read_text(path):
    """The text of a file of numbers, with or without a byte order mark. Raises LadderError for any other file."""
    raw = read_bytes(path)
    if b"\0" in raw[:1000]:
        raise LadderError(f"{path} isn't a text of numbers: it has null bytes, as UTF-16 has. Save it as plain text.")
    try:
        return raw.removeprefix(codecs.BOM_UTF8).decode("ascii")
    except UnicodeDecodeError as error:
        raise LadderError(f"{path} isn't a text of numbers: byte {error.start + 1} isn't ASCII.") from None


def first_word(words):
    """The beginning of a file, as an error message quotes it."""
    return repr(words[0][:20]) if words else "nothing"


def parse_number(word):
    """The number of a word; NaN if it isn't a number."""
    try:
        return math.nan if "_" in word else float(word)
    except ValueError:
        return math.nan


def invalid_number_reason(word):
    """Why a word isn't a finite float32 number."""
    value = parse_number(re.sub("[dD]", "e", word.replace(",", ".", 1)))  # as it was meant
    if not math.isnan(parse_number(word)):
        return "it must be finite" if math.isinf(float(word)) and not re.search("[0-9]", word) else "it is too large"
    if re.match("[-+]?0x", word, re.IGNORECASE):
        return "it is hexadecimal: write it in decimal"
    if math.isnan(value):
        return "it must be finite" if word.lower().strip("+-") == "nan" else "it isn't a number"
    if "," in word:
        return "a number has a decimal point, not a comma"
    return "it has an exponent of Fortran: write e instead of D"


def read_bytes(path):
    """The bytes of a file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None


def require_output(path, images):
    """Raise LadderError for an unknown suffix, and for more images than a grid may have."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise LadderError(f"{path} must end in {', '.join(SUFFIXES)}: the suffix determines the format.")
    if suffix in GRID_SUFFIXES and images > MAX_GRID_IMAGES:
        raise LadderError(f"{path} would be a grid of {images} images, but may have {MAX_GRID_IMAGES}: write a .txt.")


def write(file, suffix, images, chunks):
    """Write pictures to an open binary file; `chunks` yields them in order as arrays (n, 64, 64, 3), float32."""
    if suffix.lower() in GRID_SUFFIXES:
        from PIL import Image

        Image.fromarray(grid(images, chunks)).save(file, suffix[1:].upper())
        return
    file.write(f"{images}\n".encode())
    line = "%.4f " * (layout.PICTURE_SIDE**2 * layout.COLOURS) + "\n"
    for pictures in chunks:
        for picture in pictures:
            file.write((line % tuple(picture.reshape(-1).tolist())).encode())


def grid(images, chunks):
    """All pictures in one image, uint8 (rows, columns, 3)."""
    side = math.isqrt(images - 1) + 1
    cells = np.zeros((side, layout.PICTURE_SIDE, side, layout.PICTURE_SIDE, layout.COLOURS), np.uint8)
    start = 0
    for pictures in chunks:
        for index, picture in enumerate(pictures, start):
            cells[index // side, :, index % side] = (picture + 1) / 2 * 255
        start += len(pictures)
    return cells.reshape(side * layout.PICTURE_SIDE, side * layout.PICTURE_SIDE, layout.COLOURS)
