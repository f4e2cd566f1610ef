"""The file formats of the earlier study: networks, latents, and pictures as text or in a grid.

A network is raw little-endian float32 in the order of `layout`; its size determines its channels. Latents are a text:
the number of images, then 100 numbers per image. Pictures are a text as well, the number of images and then a line of
64 x 64 x 3 numbers per image (`%.4f `), or a BMP or PNG: a square grid, row by row from the top left, without gaps,
empty cells black, a value v as (v + 1) / 2 * 255, truncated.
"""

import codecs
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ladder.errors import LadderError
from ladder.workloads.dcgan import layout

MOST_CHANNELS = 4096
MOST_IN_A_GRID = 128**2
LONGEST = 18  # digits of a number of images
PICTURES = (".bmp", ".png")
SUFFIXES = (".txt", *PICTURES)
BY_IMAGE = ("latents",)
# By device, the variant and its tuning; that of the host needs no Numba, so that it starts sooner.
VARIANTS = {"offload": ("home", {"streams": 2, "batch": 512}), "host": ("host", {})}


def read(network, latents):
    """The sizes of a case and its inputs by name, from two files. Raises LadderError if one of them is invalid."""
    weights, channels = read_network(network)
    found = read_latents(latents)
    sizes = {"images": len(found), "channels": channels}
    return SimpleNamespace(sizes=sizes, inputs={"network": weights, "latents": found})


def read_network(path):
    """A network (count,), float32, and its channels."""
    raw = contents(path)
    counts = {4 * layout.count(channels): channels for channels in range(8, MOST_CHANNELS + 1, 8)}
    channels = counts.get(len(raw))
    if channels is None:
        nearest = min(counts, key=lambda size: abs(size - len(raw)))
        raise LadderError(
            f"{path} has {len(raw)} bytes, which no network has: one of {counts[nearest]} channels has {nearest}, "
            f"one of {layout.FULL} has {4 * layout.count(layout.FULL)}. Is it cut off, or another file?"
        )
    network = np.frombuffer(raw, "<f4").astype(np.float32)
    for name, array in layout.parts(network, channels).items():
        if not np.isfinite(array).all():
            raise LadderError(f"{path} is broken: its array {name} has numbers that are infinite or not a number.")
        if name.endswith("variance") and (array < 0).any():
            raise LadderError(f"{path} is broken: its array {name} has variances below 0. Is it another file?")
    return network, channels


def read_latents(path):
    """The latents (images, 100), float32."""
    words = text_of(path).split()
    if not words or not words[0].isdigit() or len(words[0]) > LONGEST or int(words[0]) < 1:
        raise LadderError(
            f"{path} must begin with the number of images, a whole number of at least 1, not with {first_of(words)}."
        )
    images, due = int(words[0]), int(words[0]) * layout.LATENT
    if len(words) - 1 != due:
        raise LadderError(
            f"{path} has {len(words) - 1} numbers behind the first, where {images} images have {due}, "
            f"{layout.LATENT} each, with blanks between them."
        )
    values = np.fromiter(map(number, words[1:]), np.float64, due)
    with np.errstate(over="ignore"):
        latents = values.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(latents))
    if len(bad):
        image, place = divmod(int(bad[0]), layout.LATENT)
        word = words[1 + int(bad[0])]
        raise LadderError(f"{path} has {word[:20]!r} as number {place + 1} of image {image + 1}: {complaint(word)}.")
    return latents.reshape(images, layout.LATENT)


def text_of(path):
    """The text of a file of numbers, with or without a byte order mark. Raises LadderError for any other file."""
    raw = contents(path)
    if b"\0" in raw[:1000]:
        raise LadderError(f"{path} is no text of numbers: it has null bytes, as UTF-16 has. Save it as plain text.")
    try:
        return raw.removeprefix(codecs.BOM_UTF8).decode("ascii")
    except UnicodeDecodeError as error:
        raise LadderError(f"{path} is no text of numbers: byte {error.start + 1} isn't one of a number.") from None


def first_of(words):
    """The beginning of a file, for a message."""
    return repr(words[0][:20]) if words else "nothing"


def number(word):
    """The number of a word; NaN if it is none."""
    try:
        return math.nan if "_" in word else float(word)
    except ValueError:
        return math.nan


def complaint(word):
    """Why a word isn't a finite float32 number."""
    value = number(re.sub("[dD]", "e", word.replace(",", ".", 1)))
    if not math.isnan(number(word)):
        return "it must be finite" if math.isinf(float(word)) and not re.search("[0-9]", word) else "it is too large"
    if re.match("[-+]?0x", word, re.IGNORECASE):
        return "it is hexadecimal: write it in decimal"
    if math.isnan(value):
        return "it must be finite" if word.lower().strip("+-") == "nan" else "it is no number"
    if "," in word:
        return "a number has a decimal point, not a comma"
    return "it has an exponent of Fortran: write e in place of D"


def contents(path):
    """The bytes of a file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None


def require_output(path, images):
    """Refuse an unknown suffix, and more images than a grid holds."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise LadderError(f"{path} must end in {', '.join(SUFFIXES)}: the ending says how pictures are written.")
    if suffix in PICTURES and images > MOST_IN_A_GRID:
        raise LadderError(f"{path} would be a grid of {images} images, {MOST_IN_A_GRID} at most: write a .txt.")


def write(file, suffix, images, chunks):
    """Write pictures to an open binary file; `chunks` yields them in order as arrays (n, 64, 64, 3), float32."""
    if suffix.lower() in PICTURES:
        from PIL import Image

        drawn = grid(images, chunks)
        Image.fromarray(drawn).save(file, suffix[1:].upper())
        return
    file.write(f"{images}\n".encode())
    line = "%.4f " * (layout.SIDE**2 * layout.COLOURS) + "\n"
    for pictures in chunks:
        for picture in pictures:
            file.write((line % tuple(picture.reshape(-1).tolist())).encode())


def grid(images, chunks):
    """All pictures in one array, uint8 (rows, columns, 3)."""
    side = math.isqrt(images - 1) + 1
    drawn = np.zeros((side, layout.SIDE, side, layout.SIDE, layout.COLOURS), np.uint8)
    start = 0
    for pictures in chunks:
        for at, picture in enumerate(pictures, start):
            drawn[at // side, :, at % side] = (picture + 1) / 2 * 255
        start += len(pictures)
    return drawn.reshape(side * layout.SIDE, side * layout.SIDE, layout.COLOURS)
