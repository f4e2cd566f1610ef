"""Parts of sentences in LaTeX. A part without a measurement is None, or a `Missing` if it needs its own words."""

from ladder.report.latex import Missing, listed
from ladder.store import study

# A rate within this factor of the highest counts as levelled off.
LEVEL = 1.1

NOTHING = Missing(r"\nomeasurement{}")


def with_prefix(prefix, values):
    """The values under longer keys."""
    return {f"{prefix}/{key}": value for key, value in values.items()}


def caches(frame):
    """The cache protocols of some rows."""
    return listed(study.values(frame, "cache")) or None


def span(counts):
    """One count, or the lowest and the highest."""
    distinct = sorted(set(counts))
    if not distinct:
        return None
    return f"\\num{{{distinct[0]}}}" if len(distinct) == 1 else f"\\numrange{{{distinct[0]}}}{{{distinct[-1]}}}"
