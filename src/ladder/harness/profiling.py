"""What bounds a case, by the counters of a profiler: Linux's `perf` on the host, NVIDIA's `ncu` on a GPU.

`perf` counts from the set-up of the worker to its last sample; `ncu` measures single kernels, which it repeats. The
verdicts are rules of thumb, those on kernels the ones of Nsight Compute's section Speed Of Light.
"""

import contextlib
import csv
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from ladder import devices
from ladder.catalogue import soundness
from ladder.errors import LadderError
from ladder.harness.leases import hold_machine, lease_devices
from ladder.harness.preconditions import require_preconditions
from ladder.harness.workers import Worker

EVENTS = ("cycles", "instructions", "cache-misses", "branch-misses")
METRICS = {
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory",
    "gpu__time_duration.sum": "time",
}
HINTS = {
    "perf": "install Linux's perf (Debian: `apt install linux-perf`)",
    "ncu": "install NVIDIA Nsight Compute, which the CUDA toolkit includes, and put `ncu` on the PATH",
}
MAX_LAUNCHES = 50  # of kernels that `ncu` measures
HARNESS_KERNELS = ("spin", "cupy_fill")  # the kernels of the clock, and of whatever is filled before a sample
BUSY_PERCENT = 60  # of a unit's peak rate from which on it bounds a kernel
FAST_RATE, SLOW_RATE = 2.0, 1.0  # in instructions per cycle
MANY_MISSES = 5.0  # of a cache or of a branch prediction, in 1000 instructions


def profile(case, files):
    """Lines on a case: its counters, and last a sentence on what bounds it. `files` are its data and its reference.

    Raises LadderError if the profiler is missing or may not count.
    """
    soundness.require_sound(case)
    require_preconditions(case, files[1])
    tool = "ncu" if devices.of(case).CEILING_DEVICE == "cuda" else "perf"
    path = shutil.which(tool)
    if not path:
        raise LadderError(f"{case.workload}/{case.variant} is profiled by `{tool}`, which is missing: {HINTS[tool]}.")
    with tempfile.TemporaryDirectory() as folder, hold_machine(case), lease_devices(case) as leases:
        log = Path(folder, "counters.csv")
        if tool == "ncu":
            run_under_ncu(case, files, path, log, leases)
            return lines_on_kernels(parse_kernels(read(log)))
        count_by_perf(case, files, path, log, leases)
        return lines_on_counts(parse_counts(read(log)))


def read(log):
    """The text that a profiler has written; empty if it wrote none."""
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


@contextlib.contextmanager
def started_worker(case, files, samples, seconds, profiler=()):
    """A context with a worker that is ready to prepare, and then takes at most `samples` in so many seconds."""
    # As more samples are asked for than taken, their convergence is never computed.
    counts = {"processes": 1, "samples": samples + 1, "least": 1, "most": samples, "phase_passes": 1}
    worker = Worker(case, counts | {"target": 0.0, "cap": seconds, "energy": False}, *files, profiler=profiler)
    try:
        worker.wait_ready()
        yield worker
    finally:
        worker.stop()


def run_under_ncu(case, files, path, log, leases):
    """Run a worker under ncu, which writes the metrics of its kernels when the worker ends."""
    options = ["--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all", "--log-file", str(log)]
    options += ["--metrics", ",".join(METRICS), "--launch-count", str(MAX_LAUNCHES)]
    with started_worker(case, files, samples=1, seconds=1.0, profiler=[path, *options]) as worker:
        worker.go(leases)
        worker.ends_within(60)


def count_by_perf(case, files, path, log, leases):
    """Attach perf to a worker while it sets up and takes samples for three seconds."""
    with started_worker(case, files, samples=10**5, seconds=3.0) as worker:
        worker.prepare(leases)
        worker.wait_paused()
        command = [path, "stat", "-x", ";", "-o", str(log), "-e", ",".join(EVENTS), "-p", str(worker.process.pid)]
        perf = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.3)  # until perf is attached
            worker.proceed()
            worker.wait_paused()
        finally:
            perf.send_signal(signal.SIGINT)
            perf.wait()
        worker.proceed()
        worker.last_answer()


def parse_counts(text):
    """{event: count} of perf's output. Raises LadderError if one of EVENTS wasn't counted."""
    values = {}
    for fields in (line.split(";") for line in text.splitlines()):
        if len(fields) > 2 and fields[0].isdigit():
            values[fields[2].partition(":")[0]] = int(fields[0])
    if missing := [event for event in EVENTS if not values.get(event)]:
        raise LadderError(
            f"perf counted no {missing[0]} here: virtual machines often have no such counters; on others, lower "
            "kernel.perf_event_paranoid to 1, or run as root."
        )
    return values


def lines_on_counts(values):
    """What perf's counts say."""
    rate = values["instructions"] / values["cycles"]
    misses, branches = (1000 * values[name] / values["instructions"] for name in ("cache-misses", "branch-misses"))
    lines = [
        f"{rate:.2f} instructions a cycle",
        f"{misses:.2g} misses of the last cache and {branches:.2g} mispredicted branches in 1000 instructions",
    ]
    if branches >= MANY_MISSES:
        return [*lines, "Mispredicted branches bound it: replace branches in the innermost loops."]
    if misses >= MANY_MISSES and rate < FAST_RATE:
        return [*lines, "Memory bounds it: use data again while they are in a cache, or move fewer bytes."]
    if rate >= FAST_RATE:
        return [*lines, "The execution of instructions bounds it: use wider vectors, FMAs, or fewer instructions."]
    if rate < SLOW_RATE:
        return [*lines, "Latency bounds it, of dependent operations or of the inner caches: use independent sums."]
    return [*lines, "No single cause stands out; `perf record` shows where the time goes."]


def parse_kernels(text):
    """{kernel: {name of METRICS: value}} of ncu's output without HARNESS_KERNELS: total times, rates weighted by time.

    Raises LadderError if ncu measured no kernel.
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        reason = next((line.rpartition("==")[2].strip() for line in lines if "ERR" in line), "it measured no kernel")
        raise LadderError(f"ncu has no result: {reason}.")
    totals = {}
    rows = list(csv.DictReader(lines[start:]))[1:]  # the first one holds units
    for row in (row for row in rows if row["Kernel Name"] not in HARNESS_KERNELS):
        values = {name: float(row[metric].replace(",", "")) for metric, name in METRICS.items()}
        total = totals.setdefault(row["Kernel Name"], dict.fromkeys(METRICS.values(), 0.0))
        total["time"] += values["time"]
        for name in ("compute", "memory"):
            total[name] += values[name] * values["time"]
    if not any(total["time"] for total in totals.values()):
        raise LadderError("ncu has no result: it measured no kernel.")
    return {
        kernel: total | {name: total[name] / total["time"] for name in ("compute", "memory")}
        for kernel, total in totals.items()
        if total["time"]
    }


def lines_on_kernels(totals):
    """What ncu's metrics say: a line for each kernel, longest first, and a sentence on the longest."""
    total = sum(values["time"] for values in totals.values())
    ordered = sorted(totals.items(), key=lambda item: -item[1]["time"])
    lines = [
        f"{kernel}: {100 * values['time'] / total:.0f} % of the time, at {values['compute']:.0f} % of the peak of its "
        f"arithmetic and other instructions, {values['memory']:.0f} % of that of memory and caches"
        for kernel, values in ordered
    ]
    kernel, longest = ordered[0]
    return [*lines, f"{bottleneck(longest['compute'], longest['memory'])} bounds {kernel}."]


def bottleneck(compute, memory):
    """What bounds a kernel with these shares of the peaks, in per cent."""
    if max(compute, memory) < BUSY_PERCENT:
        return "Latency (too few warps, or each waits for its own results)"
    if abs(compute - memory) < 10:
        return "Arithmetic and memory alike"
    return "The rate of arithmetic or of other instructions" if compute > memory else "Memory or a cache"
