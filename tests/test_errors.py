"""Counts in sentences for the user."""

import pytest

from ladder.errors import pluralize


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "GPU", "0 GPUs"), (1, "thread", "1 thread"), (2, "thread", "2 threads"), (2, "process", "2 processes")],
)
def test_a_noun_has_the_number_of_its_count(count, noun, text):
    assert pluralize(count, noun) == text
