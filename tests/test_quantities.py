"""Quantities have at least three digits, and a prefix before their unit."""

import pytest

from ladder import quantities


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5, "2.50 s"),
        (0.0, "0 s"),
        (0.0105, "10.5 ms"),
        (999.96e-6, "1.00 ms"),  # not 1000 µs
        (4.2e-6, "4.20 µs"),
        (3e-9, "3.00 ns"),
        (2e-10, "0.200 ns"),
        (1200.0, "1200 s"),
    ],
)
def test_a_time_has_three_digits_and_a_prefix(value, text):
    assert quantities.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.45e12, "4.45 TB/s"), (999.7e9, "1.00 TB/s"), (2.5e15, "2.50 PB/s"), (12.0, "12.0 B/s"), (0.5, "500 mB/s")],
)
def test_a_rate_has_three_digits_and_a_prefix(value, text):
    assert quantities.rate(value, "B/s") == text
