"""Queries of ceilings for figures, tables and text: rates by kind, device, threads, from `ceilings` or `roofs`."""

from collections.abc import Mapping
from typing import Any

from ladder.catalogue import traits
from ladder.records.case import Case
from ladder.store.ceilings import stated_ceiling

NO_CEILINGS: dict[str, list] = {"rows": []}  # the ceilings of a machine that measured none


def rates(
    ceilings: Mapping[str, Any],
    kinds: tuple[str, ...],
    device: str = "host",
    precision: str | None = None,
    kernel: str | None = None,
) -> list[tuple[int, float]]:
    """[(threads, best rate in FLOP/s or B/s)] of the ceilings on a device, of all variants.

    `kinds` are values of a workload's CEILING (see `ladder.store.ceilings`); `precision` and a stream's `kernel`
    select further.
    """
    points = []
    for row in ceilings["rows"]:
        if stated_ceiling(row["workload"]) in kinds and row.get("device", "host") == device:
            case = Case.parse(row["workload"], row["variant"], row["case"])
            has_precision = precision is None or traits.precision(case) == precision
            if has_precision and kernel in (None, case.sizes.get("kernel")):
                points.append((case.threads, row["best"]))
    return points


def by_threads(
    ceilings: Mapping[str, Any], kinds: tuple[str, ...], device: str = "host", **filters: str | None
) -> dict[int, float]:
    """{threads: best rate}; arguments as in `rates`; {} where nothing was measured."""
    maxima: dict[int, float] = {}
    for threads, rate in rates(ceilings, kinds, device, **filters):
        maxima[threads] = max(rate, maxima.get(threads, 0.0))
    return dict(sorted(maxima.items()))


def best(
    ceilings: Mapping[str, Any],
    kinds: tuple[str, ...],
    device: str = "host",
    threads: int | None = None,
    **filters: str | None,
) -> float | None:
    """The best rate on `threads`, or on any number of threads; arguments as in `rates`; None without a rate."""
    maxima = by_threads(ceilings, kinds, device, **filters)
    return maxima.get(threads) if threads else max(maxima.values(), default=None)
