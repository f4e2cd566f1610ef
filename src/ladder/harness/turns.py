"""Measure several cases in turns, process by process, so that drift of the machine affects all of them alike.

In each turn every case runs in one fresh process, in the order of the cases or, in every second turn, the other way
round. Process i of all cases thus ran in the same turn: the ratio of two cases is taken turn by turn.
"""

import math
import sys
import time
from datetime import UTC, datetime
from functools import partial

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import soundness, traits
from ladder.catalogue.sources import code_paths, fingerprint
from ladder.errors import LadderError, pluralize
from ladder.harness import environment
from ladder.harness.leases import hold_machine, lease_devices
from ladder.harness.measure import document_of
from ladder.harness.precompile import precompile
from ladder.harness.preconditions import bytes_of_arrays, require_granted, require_preconditions
from ladder.harness.workers import Worker
from ladder.machine import cpus, description, nvidia, revision
from ladder.records import published_hardware, record

# Seconds to wait after a worker was timed, until its threads sleep: those of OpenBLAS spin for 30 ms.
SETTLING_SECONDS = 0.1
# The memory that a worker may need, in multiples of the size of its case's arrays, which are on host and device.
MEMORY_FACTOR = 4
# The number of turns, from the first on, that measure the energy if the protocol says so: it takes over a second.
ENERGY_TURNS = 3


def measure_in_turns(files, protocol, campaign, machine, root, granted_cores=None, launcher=None, prelude=()):
    """Measure cases and write their records below `root`. Raises LadderError, and writes none, if anything is wrong.

    `files` is {case: (paths of data, path of the reference)}; the other arguments are those of `measure.measure`. The
    protocol's `processes` is the number of turns.
    """
    machine_description = description.describe()
    published_hardware.require_same_hardware(machine, machine_description)
    cases = list(files)
    for case, (_, reference) in files.items():
        name_case_in_errors(case, partial(require_granted, case, granted_cores))
        soundness.require_sound(case)
        require_preconditions(case, reference)
    origins = {case: (fingerprint(case), revision.of_files(code_paths(case))) for case in cases}
    results, wall_seconds = {case: [] for case in cases}, dict.fromkeys(cases, 0.0)
    granted_cores = granted_cores or cpus.cores()
    # Half, because a group is prepared while the one before it is checked. A job with some of the cores gets its share.
    max_bytes = free_bytes() / 2 * min(1, granted_cores / cpus.cores())
    new_worker = partial(start_worker, protocol=protocol, launcher=launcher, prelude=prelude)
    with hold_machine(*cases):
        for case in filter(compilation.is_needed, cases):
            precompile(case, protocol, prelude)
        with lease_devices(*cases) as leases:
            clocks = partial(devices.of(cases[0]).clocks, leases)
            started, clocks_before = datetime.now(UTC).isoformat(timespec="seconds"), clocks()
            processes = turn_order(cases, protocol["processes"])
            groups = group_processes(processes, launcher, max_bytes, granted_cores)
            must_start_alone = partial(starts_alone, launcher=launcher)
            stage_seconds = measure_groups(groups, files, new_worker, leases, results, wall_seconds, must_start_alone)
            clocks_after = clocks()
    seconds = ", ".join(f"{name} {value:.1f}" for name, value in stage_seconds.items())
    count = sum(map(len, results.values()))
    print(f"Seconds for {pluralize(count, 'process')}: {seconds}.", file=sys.stderr)
    documents = {}
    for case in cases:
        sources, origin = origins[case]
        documents[case] = document_of(case, results[case], protocol, environment.of_worker(case, prelude) | leases) | {
            "machine": machine,
            "campaign": campaign,
            "description": machine_description,
            "sources": sources,
            "source": revision.combine(origin, revision.of_files(code_paths(case))),
            "started": started,
            "wall": wall_seconds[case],
            "clocks": {"before": clocks_before, "after": clocks_after},
        }
    for case, document in documents.items():
        record.write(record.path_of(machine, case.key, root), document)


def start_worker(turn, case, data, reference, protocol, launcher, prelude):
    """A worker of a case, with the launcher if it has several ranks. In late turns it doesn't measure the energy."""
    protocol = protocol | {"energy": protocol["energy"] and turn < ENERGY_TURNS}
    return Worker(case, protocol, data, reference, launcher if case.ranks > 1 else None, prelude)


def turn_order(cases, count):
    """Yields (turn, case): all cases in each turn, in every second one the other way round."""
    for turn in range(count):
        yield from ((turn, case) for case in (cases if turn % 2 == 0 else cases[::-1]))


def group_processes(processes, launcher, max_bytes, cores=None):
    """Yield lists of (turn, case) that run together: at most `cores` ranks, whose workers need at most `max_bytes`.

    `processes` yields (turn, case). By default `cores` are those of this process.
    """
    cores = cores or cpus.cores()
    group, ranks, group_bytes = [], 0, 0  # a group, the number of its ranks, and the bytes that it requires
    for turn, case in processes:
        case_bytes = math.inf if starts_alone(case, launcher) else MEMORY_FACTOR * bytes_of_arrays(case)
        if group and (ranks + case.ranks > cores or group_bytes + case_bytes > max_bytes):
            yield group
            group, ranks, group_bytes = [], 0, 0
        group.append((turn, case))
        ranks, group_bytes = ranks + case.ranks, group_bytes + case_bytes
    yield group


def starts_alone(case, launcher):
    """Whether a worker of a case may start only once all others have ended."""
    count = 2 * max(1, cpus.cores() // case.ranks)  # a group starts while the one before it checks
    return not devices.of(case).can_start_together(case, launcher, count)


def free_bytes():
    """The bytes of memory that are available on the host, or all of a GPU that has less."""
    import psutil

    gpus = (int(gpu["memory"].split()[0]) * 2**20 for gpu in nvidia.gpus())
    return min([psutil.virtual_memory().available, *gpus])


def measure_groups(groups, files, new_worker, leases, results, wall_seconds, must_start_alone=lambda case: True):
    """Measure a process of each (turn, case) of groups, and append what it returns to the results of its case.

    The processes of a group prepare at once, are timed one by one, and then check at once; meanwhile those of the next
    group start and prepare, unless `must_start_alone(case)` is true for one. None does anything while one is timed.
    `new_worker` starts the worker of a turn and a case, as `start_worker` does; `files` is that of `measure_in_turns`.
    Adds the seconds of timing to `wall_seconds`, {case: seconds}, and returns the seconds by stage.
    """
    checking_workers, preparing_workers = [], []  # each (case, Worker)
    stages = StageTimer()
    try:
        for group in groups:
            if any(must_start_alone(case) for _, case in group):
                collect_results(checking_workers, results)
                checking_workers = []
            for turn, case in group:
                preparing_workers.append((case, new_worker(turn, case, *files[case])))
            for case, worker in preparing_workers:
                name_case_in_errors(case, worker.wait_ready)
            stages.end("starting")
            for _, worker in preparing_workers:
                worker.prepare(leases)
            collect_results(checking_workers, results)
            checking_workers = []
            stages.end("checking")
            for case, worker in preparing_workers:
                name_case_in_errors(case, worker.wait_paused)
            stages.end("preparing")
            for case, worker in preparing_workers:
                wall_seconds[case] += measure_process(case, worker)
            stages.end("timed")
            for _, worker in preparing_workers:
                worker.proceed()
            checking_workers, preparing_workers = preparing_workers, []
        collect_results(checking_workers, results)
        stages.end("checking")
    finally:
        for _, worker in checking_workers + preparing_workers:
            worker.stop()
    return stages.seconds


class StageTimer:
    """The `seconds` of stages that follow each other and recur, {name: seconds}."""

    def __init__(self):
        self.seconds = {}
        self.start = time.monotonic()

    def end(self, name):
        """End the present stage, which `name` names, and begin the next one."""
        now = time.monotonic()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.start
        self.start = now


def measure_process(case, worker):
    """Time the case in a worker that has prepared; returns the seconds that it took in total."""
    start = time.monotonic()
    worker.proceed()
    name_case_in_errors(case, worker.wait_paused)
    if not traits.gpus(case):
        time.sleep(SETTLING_SECONDS)
    return time.monotonic() - start


def collect_results(checking_workers, results):
    """Wait for the results of workers that check, each (case, Worker), and stop these."""
    for case, worker in checking_workers:
        results[case].append(name_case_in_errors(case, worker.last_answer))
    for _, worker in checking_workers:
        worker.stop()


def name_case_in_errors(case, action):
    """The result of an action; an error of it names the case, since others are measured with it."""
    try:
        return action()
    except LadderError as error:
        raise CaseError(case, error) from None


class CaseError(LadderError):
    """The error of one of several cases; `reason` is its message without the name of the case."""

    def __init__(self, case, error):
        super().__init__(f"{case.key}: {error}")
        self.case, self.reason = case, str(error)
