"""The ceilings that shares refer to: the best case of a machine, over sizes, rungs and libraries.

A case's rate is the QUANTILE over its processes of the rates of their median calls, so that a single fast sample or
process sets no ceiling.

For a published machine the ceilings cover all of its measurements; for the machine of this build only its ceiling
experiments, so that a figure depends on no other experiments than these and its own (the verb `roofs`).

The ceiling of arithmetic is the best rate of all matrix products, warm or cold, for each precision and number of
threads; precisions are separate, because TF32 is faster than float32. The ceiling of bandwidth is the best cold rate
of the streams for each number of threads; a matrix-vector product may raise it, but sets none without a stream. A GPU's
fused multiply-adds without tensor cores have a ceiling of their own. A ceiling that wasn't measured is None.

They are the roofs of S. Williams, A. Waterman and D. Patterson's roofline model, Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from ladder.store import ceiling_rates
from ladder.store.ceilings import BANDWIDTH, FLOPS, FUSED, RAISES_BANDWIDTH, stated_ceiling, work_column

if TYPE_CHECKING:
    import numpy as np

    from ladder.store.study import Study

# The kinds of ceilings, as workloads state them, that shares of each rate refer to.
PRODUCTS, STREAMS, MULTIPLY_ADDS = (FLOPS,), (BANDWIDTH, RAISES_BANDWIDTH), (FUSED,)
# The units of rates, by the column of the work.
UNITS = {"flops": "FLOP/s", "bytes": "B/s"}
# The columns that identify a kind of ceiling, a case, and a process of a case.
KIND_COLUMNS = ["workload", "device", "precision", "threads", "kernel"]
CASE_COLUMNS = ["workload", "variant", "case", "device"]
PROCESS_COLUMNS = ["experiment", "campaign", "process"]
COLUMNS = [*dict.fromkeys(CASE_COLUMNS + KIND_COLUMNS + PROCESS_COLUMNS), "cache", "seconds", *UNITS]
QUANTILE = 0.9


def of_samples(samples: pd.DataFrame) -> dict[str, Any]:
    """{rows}: the best case of each kind (KIND_COLUMNS) in a machine's timed calls, and its rate in FLOP/s or B/s."""
    calls = samples_with_ceilings(samples.reindex(columns=COLUMNS))
    calls = calls[calls["device"].isin(("host", "cuda"))].reset_index(drop=True)
    work = map_workloads(calls, work_column)
    calls = calls.assign(best=calls["flops"].where(work == "flops", calls["bytes"]) / calls["seconds"], work=work)
    calls = calls[(calls["work"] == "flops") | ((calls["cache"] == "cold") & has_stream(calls))]
    calls = rates_of_cases(calls)
    best = calls.loc[calls.groupby(KIND_COLUMNS, dropna=False)["best"].idxmax()] if len(calls) else calls
    units = best["work"].map(UNITS)
    return {"rows": best.assign(unit=units)[[*CASE_COLUMNS, "best", "unit"]].to_dict("records")}


def rates_of_cases(calls: pd.DataFrame) -> pd.DataFrame:
    """One row for each case, with the QUANTILE over its processes of the median rate of each."""
    if calls.empty:
        return calls
    case = [*dict.fromkeys(CASE_COLUMNS + KIND_COLUMNS), "work"]
    by_process = calls.groupby(case + PROCESS_COLUMNS, dropna=False)["best"].median()
    return by_process.groupby(level=case, dropna=False).quantile(QUANTILE).reset_index()


def samples_with_ceilings(samples: pd.DataFrame) -> pd.DataFrame:
    """The samples of workloads that have a literal CEILING."""
    return samples[map_workloads(samples, stated_ceiling).notna()]


def map_workloads(samples: pd.DataFrame, function: Callable) -> pd.Series:
    """A function's value for every row's workload, called once for each workload."""
    return samples["workload"].map({name: function(name) for name in samples["workload"].dropna().unique()})


def has_stream(calls: pd.DataFrame) -> np.ndarray:
    """Whether a stream was measured on the device and the number of threads of each call: an array of bool."""
    resources = pd.MultiIndex.from_frame(calls[["device", "threads"]].fillna({"threads": 1}))
    return resources.isin(resources[map_workloads(calls, stated_ceiling) == BANDWIDTH])


def of_study(study: Study) -> dict[str, Any]:
    """The ceilings of a study's machine, as those of `of_samples`."""
    frames = [frame.reindex(columns=COLUMNS) for frame in map(study.samples, study.tables) if len(frame)]
    return of_samples(
        pd.concat(
            [frame for frame in map(samples_with_ceilings, frames) if len(frame)] or [pd.DataFrame(columns=COLUMNS)]
        )
    )


def arithmetic(machine: Study, dtype: str, threads: int | None = None) -> float | None:
    """FLOP/s of the host's products in a precision, on `threads` or on any number."""
    return ceiling_rates.best(machine.ceilings, PRODUCTS, "host", threads, precision=dtype)


def bandwidth(machine: Study, threads: int | None = None, kernel: str | None = None) -> float | None:
    """B/s of the host's memory, on `threads` or on any number, by any stream or by one kernel of the streams."""
    return ceiling_rates.best(machine.ceilings, STREAMS, "host", threads, kernel=kernel)


def gpu_arithmetic(machine: Study, dtype: str) -> float | None:
    """FLOP/s of the GPU's products in a precision: a dtype, or one of tensor cores, such as tf32."""
    return ceiling_rates.best(machine.ceilings, PRODUCTS, "cuda", precision=dtype)


def gpu_bandwidth(machine: Study, kernel: str | None = None) -> float | None:
    """B/s of the GPU's memory, or the rate of one kernel of the streams in it."""
    return ceiling_rates.best(machine.ceilings, STREAMS, "cuda", kernel=kernel)
