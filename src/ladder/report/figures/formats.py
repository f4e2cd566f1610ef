"""Numbers as figures write them."""

import math

TIME_UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))


def plain(value, _=None):
    """A number without exponent or trailing zeros."""
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def power_of_ten(value, _=None):
    """A power of ten below 1 as 1e-3, without a superscript; 1 for any other number."""
    return f"1e{round(math.log10(value))}" if value < 1 else "1"


def scientific(value, _=None):
    """A number as a power of ten, with a factor unless it is 1: $10^{9}$, $3 \\cdot 10^{9}$."""
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = round(value / 10**exponent, 2)
    return f"$10^{{{exponent}}}$" if factor == 1 else f"${factor:g} \\cdot 10^{{{exponent}}}$"


def time(seconds, format_value=None):
    """A time with its unit; `format_value` formats its value, by default with three digits."""
    name, per_second = next(((name, scale) for name, scale in TIME_UNITS if seconds * scale >= 0.9995), TIME_UNITS[-1])
    return f"{(format_value or three_digits)(seconds * per_second)} {name}"


def three_digits(value):
    """A number with three significant digits, and without decimals from 100 on."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:#.3g}"


def percent(share):
    """A share in per cent with two significant digits."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def threads(count):
    """A number of threads with its noun."""
    return "1 thread" if count == 1 else f"{count} threads"


def gpus(count):
    """A number of GPUs with its noun."""
    return "1 GPU" if count == 1 else f"{count} GPUs"
