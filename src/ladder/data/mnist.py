"""MNIST, downloaded from mirrors and checked by the SHA-256 checksums of its files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ladder.data import dataset
from ladder.data.download import ExpectedFile, fetch
from ladder.records import checksums

# Sums of the decompressed files, since mirrors compress them differently.
EXPECTED_FILES = {
    dataset.TRAIN_IMAGES: ExpectedFile(47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
    dataset.TRAIN_LABELS: ExpectedFile(60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    dataset.TEST_IMAGES: ExpectedFile(7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
    dataset.TEST_LABELS: ExpectedFile(10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
}


def write(folder: Path, mirrors: Sequence[Path | str], expected: Mapping[str, ExpectedFile] = EXPECTED_FILES) -> None:
    """Download the four files of MNIST into `folder`, decompressed, and write their checksums.

    `mirrors` are tried in order; a mirror that had a file is tried first for the next file. Raises LadderError like
    `download.fetch`.
    """
    for name, expected_file in expected.items():
        used_mirror = fetch(Path(folder, name), expected_file, mirrors)
        # False sorts first; the others keep their order.
        mirrors = sorted(mirrors, key=lambda mirror: mirror != used_mirror)
    checksums.write(folder, expected)
