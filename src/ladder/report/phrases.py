"""Parts of sentences in LaTeX, None or a `Missing` without a measurement; and their keys as a template names them."""

from ladder.report.latex import Missing, enumeration
from ladder.store import study

NO_MEASUREMENT = Missing(r"\nomeasurement{}")


def with_prefix(prefix, values):
    """The values with `prefix/` before their keys."""
    return {f"{prefix}/{key}": value for key, value in values.items()}


def cache_protocols(frame):
    """The cache protocols of some rows."""
    return enumeration(study.values(frame, "cache")) or None


def span(counts):
    """The range of some counts, or the only count; None without any."""
    distinct = sorted(set(counts))
    if not distinct:
        return None
    return f"\\num{{{distinct[0]}}}" if len(distinct) == 1 else f"\\numrange{{{distinct[0]}}}{{{distinct[-1]}}}"
