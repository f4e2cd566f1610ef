"""What bounds a case, by the counters of a profiler: Linux's `perf` on the host, NVIDIA's `ncu` on a GPU.

`perf` counts from the set-up of the worker to its last sample; `ncu` measures single kernels, which it repeats. The
verdicts are rules of thumb, those on kernels the ones of Nsight Compute's section Speed Of Light.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from ladder import devices
from ladder.catalogue import soundness
from ladder.errors import LadderError
from ladder.harness import kernel_counters
from ladder.harness.kernel_counters import ready_worker
from ladder.harness.leases import hold_machine, lease_devices
from ladder.harness.preconditions import require_preconditions

EVENTS = ("cycles", "instructions", "cache-misses", "branch-misses")
INSTALLATION_HINTS = {
    "perf": "install Linux's perf (Debian: `apt install linux-perf`)",
    "ncu": "install NVIDIA Nsight Compute, which the CUDA toolkit includes, and put `ncu` on the PATH",
}
# The share of its peak rate at which a unit bounds a kernel, and the difference below which two shares are alike.
MIN_BUSY_SHARE, MAX_SHARE_DIFFERENCE = 0.6, 0.1
FAST_RATE, SLOW_RATE = 2.0, 1.0  # in instructions per cycle
MANY_MISSES = 5.0  # of a cache or of a branch prediction, in 1000 instructions


def profile(case, files):
    """Lines on a case: its counters, and last a sentence on what bounds it. `files` are its data and its reference.

    Raises LadderError if the profiler is missing or isn't permitted to count.
    """
    if devices.of(case).CEILING_DEVICE == "cuda":
        return lines_on_kernels(count_kernels(case, files))
    path = find_profiler("perf", case, files)
    with tempfile.TemporaryDirectory() as folder, hold_machine(case), lease_devices(case) as leases:
        log = Path(folder, "counters.csv")
        count_by_perf(case, files, path, log, leases)
        return lines_on_counts(parse_counts(log.read_text(encoding="utf-8") if log.exists() else ""))


def count_kernels(case, files):
    """The KernelCounters of a case on a GPU, longest first. Raises LadderError as `profile` does."""
    return kernel_counters.count_by_ncu(case, files, find_profiler("ncu", case, files))


def find_profiler(tool, case, files):
    """The path of the profiler `tool`. Raises LadderError without it, and if the case can't run."""
    soundness.require_sound(case)
    require_preconditions(case, files[1])
    if path := shutil.which(tool):
        return path
    raise LadderError(
        f"{case.workload}/{case.variant} is profiled by `{tool}`, which is missing: {INSTALLATION_HINTS[tool]}."
    )


def count_by_perf(case, files, path, log, leases):
    """Attach perf to a worker while it sets up and takes samples for three seconds."""
    with ready_worker(case, files, samples=10**5, seconds=3.0) as worker:
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
    counts = {}
    for columns in (line.split(";") for line in text.splitlines()):
        if len(columns) > 2 and columns[0].isdigit():
            counts[columns[2].partition(":")[0]] = int(columns[0])
    if missing := [event for event in EVENTS if not counts.get(event)]:
        raise LadderError(
            f"perf counted no {missing[0]} here: virtual machines often have no such counters; on others, lower "
            "kernel.perf_event_paranoid to 1, or run as root."
        )
    return counts


def lines_on_counts(counts):
    """What perf's counts, {event: count}, say."""
    rate = counts["instructions"] / counts["cycles"]
    per_instruction = (counts[name] / counts["instructions"] for name in ("cache-misses", "branch-misses"))
    misses, mispredictions = (1000 * quotient for quotient in per_instruction)
    lines = [
        f"{rate:.2f} instructions a cycle",
        f"{misses:.2g} misses of the last cache and {mispredictions:.2g} mispredicted branches in 1000 instructions",
    ]
    if mispredictions >= MANY_MISSES:
        return [*lines, "It is bound by mispredicted branches: replace branches in the innermost loops."]
    if misses >= MANY_MISSES and rate < FAST_RATE:
        return [*lines, "It is memory-bound: reuse data while they are in a cache, or move fewer bytes."]
    if rate >= FAST_RATE:
        return [*lines, "It is bound by its instructions: use wider vectors, FMAs, or fewer instructions."]
    if rate < SLOW_RATE:
        return [*lines, "It is latency-bound, by dependent operations or the inner caches: use independent sums."]
    return [*lines, "No single cause stands out; `perf record` shows where the time goes."]


def lines_on_kernels(kernels):
    """What ncu's counters say: a line for each kernel, longest first, and a sentence on the longest."""
    total = sum(kernel.seconds for kernel in kernels)
    longest = kernels[0]
    bound = bottleneck(max(longest.issue, *longest.pipes.values()), max(longest.memories.values()))
    return [*(line_on_kernel(kernel, total) for kernel in kernels), f"{longest.kernel} is {bound}."]


def line_on_kernel(kernel, total):
    """A line on a kernel; `total` is the time of all kernels."""
    memories = ", ".join(f"{name} {percent(share)}" for name, share in kernel.memories.items())
    line = (
        f"{kernel.kernel}: {percent(kernel.seconds / total)} of the time; instructions in {percent(kernel.issue)} of "
        f"the cycles; shares of peak rates: {kernel.pipe} {percent(kernel.pipes[kernel.pipe])}, {memories}"
    )
    stall = kernel.stall
    return f"{line}; warps stall most often by {stall}, {percent(kernel.stalls[stall])}" if stall else line


def percent(share):
    """A share as a whole percentage."""
    return f"{100 * share:.0f} %"


def bottleneck(compute_share, memory_share):
    """What bounds a kernel that uses these shares of its peak rates, as a predicate."""
    if max(compute_share, memory_share) < MIN_BUSY_SHARE:
        return "latency-bound: too few warps, or each waits for its own results"
    if abs(compute_share - memory_share) < MAX_SHARE_DIFFERENCE:
        return "bound by arithmetic and memory alike"
    return "bound by arithmetic or other instructions" if compute_share > memory_share else "bound by memory or a cache"
