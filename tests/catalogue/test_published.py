"""Published artefacts: compressed with their SHA-256 checksums, and unpacked only if these match."""

import hashlib
import json
import lzma
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ladder.__main__ import main
from ladder.catalogue import published
from ladder.errors import LadderError
from ladder.machine import revision

FILE = "learned.bin"
UNPACK = ["artefact", "dcgan", FILE, "--unpack", "--out", "results/data/dcgan/learned.bin"]


@pytest.fixture
def contents(tmp_path, monkeypatch):
    """The bytes of an artefact that is published below the working directory: float16 values in float32."""
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(1).standard_normal(20_001).astype(np.float16).astype("<f4")
    numbers.tofile("made.bin")
    published.publish("dcgan", FILE, "made.bin")
    return numbers.tobytes()


def test_a_published_artefact_is_unpacked_unchanged(contents):
    # A float16 has half the bits of a float32; the rest compresses to little.
    assert published.archive_path("dcgan", FILE).stat().st_size < 0.55 * len(contents)
    assert published.checksum_of("dcgan", FILE) == hashlib.sha256(contents).hexdigest()
    assert published.checksum_of("dcgan", "pictures.png") is None
    main(UNPACK)
    assert Path(UNPACK[-1]).read_bytes() == contents
    check = ["sha256sum", "--check", Path(published.FOLDER, "dcgan", "learned.bin.sha256").absolute()]
    subprocess.run(check, cwd=Path(UNPACK[-1]).parent, check=True, capture_output=True)
    description = json.loads(Path(published.FOLDER, f"dcgan/{FILE}.json").read_text(encoding="utf-8"))
    assert description["source"] == revision.current()
    assert "numpy" in description["libraries"]


def truncate(archive, checksum):
    archive.write_bytes(archive.read_bytes()[:-40])


def replace_contents(archive, checksum):
    archive.write_bytes(lzma.compress(b"another network"))


def remove_checksum(archive, checksum):
    checksum.unlink()


def empty_checksum(archive, checksum):
    checksum.write_text("\n")


# (function that damages the archive or its checksum, words of the error).
FAULTS = [
    (truncate, "can't be unpacked"),
    (replace_contents, "has the SHA-256 checksum"),
    (remove_checksum, "says nothing"),
    (empty_checksum, "says nothing"),
]


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_an_artefact_that_does_not_match_its_checksum_is_not_unpacked(contents, capsys, fault, words):
    fault(published.archive_path("dcgan", FILE), published.checksum_path("dcgan", FILE))
    assert published.checksum_of("dcgan", FILE)
    with pytest.raises(SystemExit):
        main(UNPACK)
    assert words in capsys.readouterr().err
    assert not Path(UNPACK[-1]).exists()


def test_an_artefact_that_is_not_published_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LadderError, match=r"dcgan/learned\.bin is not published"):
        published.unpack("dcgan", FILE, "x.bin")
