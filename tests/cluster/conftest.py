"""The Slurm that the tests of this folder share."""

import pytest

from cluster import slurm as virtual


# Not of the session: Slurm ends with the last of these tests, and disturbs no other.
@pytest.fixture(scope="package")
def slurm():
    """A Slurm of four virtual nodes, of which the machine has one at a time."""
    try:
        with virtual.running() as it:
            yield it
    except virtual.Waiting as reason:
        pytest.skip(str(reason))
