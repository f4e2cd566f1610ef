"""Numbers and quantities as plain text: significant digits, units with decimal prefixes."""

import math

PREFIXES = {1e15: "P", 1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k", 1.0: "", 1e-3: "m", 1e-6: "µ", 1e-9: "n"}
# Kiloseconds and more are not used.
TIME_PREFIXES = {scale: prefix for scale, prefix in PREFIXES.items() if scale <= 1}


def digits(value: float, count: int = 3) -> str:
    """A number with `count` significant digits and no exponent: 0.0123, 1.23, 123, 1230."""
    if not value:
        return "0"
    decimals = count - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    if rounded and math.floor(math.log10(abs(rounded))) > math.floor(math.log10(abs(value))):
        decimals -= 1  # 9.999 was rounded to 10.00, which has a digit more
    return f"{rounded:.{max(decimals, 0)}f}"


def scale_of(value: float, prefixes: dict[float, str] = PREFIXES) -> float:
    """The largest scale in which a value, rounded to three digits, is at least 1, or else the smallest; 1 for 0."""
    rounded = float(f"{abs(value):.3g}")
    return next((scale for scale in prefixes if rounded >= scale), min(prefixes)) if value else 1.0


def seconds(value: float) -> str:
    """A time with three digits in s, ms, µs or ns."""
    scale = scale_of(value, TIME_PREFIXES)
    return f"{digits(value / scale)} {PREFIXES[scale]}s"


def rate(value: float, unit: str) -> str:
    """A rate with three digits and a decimal prefix: 50.3 GFLOP/s."""
    scale = scale_of(value)
    return f"{digits(value / scale)} {PREFIXES[scale]}{unit}"
