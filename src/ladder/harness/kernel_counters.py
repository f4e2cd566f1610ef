"""What NVIDIA's ncu counts of the kernels of a case: the shares of their units' peak rates, and why their warps wait.

The metrics are those of Nsight Compute's sections Speed Of Light, Compute Workload Analysis and Warp State Statistics.
ncu repeats each kernel for several passes, with empty caches. It sets no clocks: the GPU is in its usual state.
"""

import contextlib
import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ladder.errors import LadderError
from ladder.harness.leases import hold_machine, lease_devices
from ladder.harness.workers import Worker

PEAK = ".avg.pct_of_peak_sustained_elapsed"  # the suffix of metrics in per cent of a peak rate
TIME = "gpu__time_duration.sum"  # in ns
ISSUE = f"sm__issue_active{PEAK}"
PIPES = {f"sm__pipe_{name}_cycles_active{PEAK}": name for name in ("tensor", "fp64", "fma", "alu")} | {
    f"sm__inst_executed_pipe_lsu{PEAK}": "load/store"
}
MEMORIES = {f"dram__throughput{PEAK}": "DRAM", f"lts__throughput{PEAK}": "L2", f"l1tex__throughput{PEAK}": "L1"}
STALLS_REGEX = "regex:smsp__average_warps_issue_stalled_.*_per_issue_active"
STALL_PREFIX, STALL_SUFFIX = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
READY = ("selected", "not_selected")  # warps that issue an instruction, or could
OPTIONS = ["--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all", "--clock-control", "none"]
MAX_LAUNCHES = 50  # of kernels that ncu measures
HARNESS_KERNELS = ("spin", "cupy_fill")  # of the GPU's clock, and of fills before a call


@dataclass
class KernelCounters:
    """The counters of a kernel over all its launches. Shares of peak rates are weighted by the launches' times.

    `seconds` is the total time; `issue` the share of cycles in which an instruction was issued; `pipes` {pipe: share},
    of its peak rate, and `memories` those of DRAM, L2 and L1 with shared memory; `stalls` {reason: share}, of the time
    of resident warps.
    """

    kernel: str
    launches: int
    seconds: float
    issue: float
    pipes: dict[str, float]
    memories: dict[str, float]
    stalls: dict[str, float]

    @property
    def pipe(self):
        """The busiest pipe."""
        return max(self.pipes, key=self.pipes.get)

    @property
    def stall(self):
        """The most frequent reason why warps wait; None if ncu counted none."""
        return max(self.stalls, key=self.stalls.get, default=None)


@contextlib.contextmanager
def ready_worker(case, files, samples, seconds, profiler=()):
    """A context with a ready worker, which will take at most `samples` samples within `seconds`."""
    # The required number exceeds the maximum, so the convergence of the median is never computed.
    counts = {"processes": 1, "samples": samples + 1, "least": 1, "most": samples, "phase_passes": 0}
    worker = Worker(case, counts | {"target": 0.0, "cap": seconds, "energy": False}, *files, profiler=profiler)
    try:
        worker.wait_ready()
        yield worker
    finally:
        worker.stop()


def count_by_ncu(case, files, ncu):
    """The KernelCounters of a case's kernels, longest first.

    `files` are its data and its reference, `ncu` is the profiler's path. Raises LadderError if the case fails, or ncu
    measured nothing.
    """
    with tempfile.TemporaryDirectory() as folder, hold_machine(case), lease_devices(case) as leases:
        log = Path(folder, "counters.csv")
        metrics = ",".join([TIME, ISSUE, *PIPES, *MEMORIES, STALLS_REGEX])
        limits = ["--metrics", metrics, "--log-file", str(log), "--launch-count", str(MAX_LAUNCHES)]
        with ready_worker(case, files, samples=1, seconds=1.0, profiler=[ncu, *OPTIONS, *limits]) as worker:
            worker.go(leases)
            worker.ends_within(60)
        return parse(log.read_text(encoding="utf-8", errors="replace") if log.exists() else "")


def parse(text):
    """The KernelCounters in ncu's output, longest first, without HARNESS_KERNELS.

    Raises LadderError if ncu measured no kernel.
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        reason = next((line.rpartition("==")[2].strip() for line in lines if "ERR" in line), "it measured no kernel")
        raise LadderError(f"ncu has no result: {reason}.")
    launches = {}
    for row in list(csv.DictReader(lines[start:]))[1:]:  # the first one holds units
        if row["Kernel Name"] not in HARNESS_KERNELS and parse_number(row[TIME]):
            launches.setdefault(row["Kernel Name"], []).append(row)
    if not launches:
        raise LadderError("ncu has no result: it measured no kernel.")
    kernels = [sum_launches(name, rows) for name, rows in launches.items()]
    return sorted(kernels, key=lambda kernel: -kernel.seconds)


def sum_launches(name, rows):
    """The KernelCounters of a kernel over its launches, rows of ncu's output."""
    times = [parse_number(row[TIME]) for row in rows]

    def average(metric):
        return sum(time * parse_number(row[metric]) for time, row in zip(times, rows, strict=True)) / sum(times)

    names = [name for name in rows[0] if name.startswith(STALL_PREFIX) and name.endswith(STALL_SUFFIX)]
    stalls = {name.removeprefix(STALL_PREFIX).removesuffix(STALL_SUFFIX): average(name) for name in names}
    resident_warps = sum(stalls.values()) or 1.0  # per issued instruction
    return KernelCounters(
        name,
        len(rows),
        sum(times) / 1e9,
        average(ISSUE) / 100,
        {pipe: average(metric) / 100 for metric, pipe in PIPES.items()},
        {memory: average(metric) / 100 for metric, memory in MEMORIES.items()},
        {reason: value / resident_warps for reason, value in stalls.items() if reason not in READY},
    )


def parse_number(text):
    """A number of ncu's output: with commas between thousands, 0 where a GPU lacks the metric."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0
