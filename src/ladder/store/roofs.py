"""The ceilings that shares refer to: the best case of a machine, over sizes, rungs and libraries.

A case's rate is the QUANTILE over its processes of the rates of their median calls, so that a single fast sample or
process sets no ceiling.

Of a published machine that is over all that it measured; of the machine of this build, over its ceiling experiments, so
that one figure asks for no more than these (the verb `roofs`).

Arithmetic's is the best rate of all products of matrices, warm or cold, of one precision on so many threads; each
precision has its own, so that what TF32 reaches is no share of float32's. The bandwidth's is the best rate of the
streams, cold, on so many threads; products of matrix and vector may raise it, but set none by themselves. A GPU's
fused multiply-adds without tensor cores stand beside its products and raise no ceiling of theirs. What was never
measured has the ceiling None.

They are the roofs of S. Williams, A. Waterman and D. Patterson's roofline model, Communications of the ACM 52(4), 2009.
"""

import pandas as pd

from ladder.store import peaks
from ladder.store.ceilings import BANDWIDTH, FLOPS, FUSED, RAISES_BANDWIDTH, bound, stated_ceiling

# The kinds of ceilings, as workloads state them, that shares of each rate refer to.
PRODUCTS, STREAMS, MULTIPLY_ADDS = (FLOPS,), (BANDWIDTH, RAISES_BANDWIDTH), (FUSED,)
UNITS = {"flops": "FLOP/s", "bytes": "B/s"}
KIND = ["workload", "device", "precision", "threads", "kernel"]
CASE = ["workload", "variant", "case", "device"]
OF_PROCESS = ["experiment", "campaign", "process"]
COLUMNS = [*dict.fromkeys(CASE + KIND + OF_PROCESS), "cache", "seconds", *UNITS]
QUANTILE = 0.9


def of_samples(samples):
    """{rows}: the best case of each KIND among a machine's timed calls, with its rate in FLOP/s or B/s."""
    calls = with_ceilings(samples.reindex(columns=COLUMNS))
    calls = calls[calls["device"].isin(("host", "cuda"))].reset_index(drop=True)
    work = of_workloads(calls, bound)
    calls = calls.assign(best=calls["flops"].where(work == "flops", calls["bytes"]) / calls["seconds"], work=work)
    calls = calls[(calls["work"] == "flops") | ((calls["cache"] == "cold") & beside_streams(calls))]
    calls = of_processes(calls)
    best = calls.loc[calls.groupby(KIND, dropna=False)["best"].idxmax()] if len(calls) else calls
    units = best["work"].map(UNITS)
    return {"rows": best.assign(unit=units)[[*CASE, "best", "unit"]].to_dict("records")}


def of_processes(calls):
    """One row for each case, with the QUANTILE over its processes of the median rate of each."""
    if calls.empty:
        return calls
    case = [*dict.fromkeys(CASE + KIND), "work"]
    by_process = calls.groupby(case + OF_PROCESS, dropna=False)["best"].median()
    return by_process.groupby(level=case, dropna=False).quantile(QUANTILE).reset_index()


def with_ceilings(samples):
    """Those of workloads that state what they are a ceiling of."""
    return samples[of_workloads(samples, stated_ceiling).notna()]


def of_workloads(samples, question):
    """The answer of every row's workload to a question."""
    return samples["workload"].map({name: question(name) for name in samples["workload"].dropna().unique()})


def beside_streams(calls):
    """Which calls are on a device and as many threads as some stream."""
    places = pd.MultiIndex.from_frame(calls[["device", "threads"]].fillna({"threads": 1}))
    return places.isin(places[of_workloads(calls, stated_ceiling) == BANDWIDTH])


def of_study(study):
    """The same of a study's subject."""
    frames = [frame.reindex(columns=COLUMNS) for frame in map(study.samples, study.tables) if len(frame)]
    return of_samples(
        pd.concat([frame for frame in map(with_ceilings, frames) if len(frame)] or [pd.DataFrame(columns=COLUMNS)])
    )


def arithmetic(machine, dtype, threads=None):
    """FLOP/s of the host's products in a precision on so many threads, or on any."""
    return peaks.best(machine.ceilings, PRODUCTS, "host", threads, precision=dtype)


def bandwidth(machine, threads=None, kernel=None):
    """B/s of the host's memory on so many threads, or on any; or what one kernel of the streams reaches."""
    return peaks.best(machine.ceilings, STREAMS, "host", threads, kernel=kernel)


def gpu_arithmetic(machine, dtype):
    """FLOP/s of the GPU's products in a precision: a dtype, or that of tensor cores, such as tf32."""
    return peaks.best(machine.ceilings, PRODUCTS, "cuda", precision=dtype)


def gpu_bandwidth(machine, kernel=None):
    """B/s of the GPU's memory, or the rate of one kernel of the streams in it."""
    return peaks.best(machine.ceilings, STREAMS, "cuda", kernel=kernel)
