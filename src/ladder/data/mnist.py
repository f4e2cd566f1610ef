"""MNIST, fetched from mirrors, with the sums of its files."""

from pathlib import Path

from ladder.data import dataset
from ladder.data.download import Expected, fetch
from ladder.records import checksums

# Of the decompressed files, since the compression differs between mirrors.
EXPECTED = {
    dataset.TRAIN_IMAGES: Expected(47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
    dataset.TRAIN_LABELS: Expected(60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
    dataset.TEST_IMAGES: Expected(7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
    dataset.TEST_LABELS: Expected(10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
}


def write(folder, mirrors, expected=EXPECTED):
    """Write the four files of MNIST into `folder`, decompressed and with the expected sha256 sums.

    `mirrors` are tried in order; the one that had a file is tried first for the next. Raises LadderError, see
    `download.fetch`.
    """
    for name, file in expected.items():
        mirror = fetch(Path(folder, name), file, mirrors)
        mirrors = sorted(mirrors, key=lambda each: each != mirror)
    checksums.write(folder, expected)
