"""Measuring a case: fresh workers, one after the other on a quiet machine, and the record of their results.

`worker.py` says what is timed and what is not; the protocol of the configuration, how long sampling goes on.
"""

import contextlib
import time
from datetime import UTC, datetime
from functools import partial

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import workloads
from ladder.catalogue.sources import fingerprint
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.harness.demands import require_met
from ladder.harness.exclusive import leased, quiet
from ladder.harness.possible import require_possible
from ladder.harness.precompile import precompile
from ladder.harness.workers import Worker
from ladder.machine import description, revision, variables
from ladder.records import agreement, record
from ladder.statistics import intervals


@contextlib.contextmanager
def started(case, protocol, data, reference, launcher, prelude=()):
    """A list of workers that are ready, to which more may be added; all are stopped in the end."""
    workers = []
    try:
        # All start at once, since imports run side by side; then one measures while the others wait.
        at_once = protocol["processes"] if devices.of(case).share_start(case, launcher) else 1
        workers += [Worker(case, protocol, data, reference, launcher, prelude) for _ in range(at_once)]
        intervals.quantile()  # needed in the end, imported while the workers import
        for worker in workers:
            worker.wait_ready()
        yield workers
    finally:
        for worker in workers:
            worker.stop()


def results_of(workers, protocol, variables, another):
    """The results of these workers in order, and of further workers, `another()` each, until the median is known."""
    results = []
    deadline = time.monotonic() + protocol["cap"]
    for worker in workers:  # which grows meanwhile
        results.append(worker.go(variables))
        worker.stop()
        if len(results) < len(workers):
            continue
        is_due, may_be = (len(results) < protocol[name] for name in ("processes", "most_processes"))
        if is_due or (may_be and not is_converged(results, protocol) and time.monotonic() < deadline):
            workers.append(another())
            workers[-1].wait_ready()
    return results


def is_converged(results, protocol):
    """Whether the 95 % interval of the median over all processes is within the protocol's target."""
    return intervals.converged([result["samples"] for result in results], protocol["target"])


def require_phases(results):
    """Raises LadderError for a phase with the name that a whole call has in the tables."""
    if any("total" in phases for result in results for phases in result["phases"]):
        raise LadderError("A phase of the variant is called `total`, as the whole call is: name it otherwise.")


def cost_of(case, facts):
    """What a run costs; where that depends on the facts that runs found, by the least of them."""
    workload = workloads.load(case.workload)
    least = {name: min(one[name] for one in facts) for name in facts[0]}
    cost = workload.cost(case.sizes, least) if least else workload.cost(case.sizes)
    cost.precision = workloads.precision(case)
    return cost


def measure(
    case, out, protocol, machine, data=None, reference=None, ceilings=None, granted=None, launcher=None, prelude=()
):
    """Measure a case and write its record to `out`. Raises LadderError and writes nothing when anything is wrong.

    `prelude` holds the variables that the prelude of a cluster's node has set.
    """
    if granted is not None and granted < case.cores:
        raise LadderError(
            f"The case asks for {case.cores} threads, but Snakemake grants {granted} cores: raise --cores, "
            "or lower `cores` in the configuration so that the case is left out."
        )
    workloads.require_sound(case)
    require_met(case, reference)
    sources, origin = fingerprint(case), revision.current()
    job = case, protocol, data, reference, launcher, prelude
    # Cards are leased once the workers are ready, so that they work for other jobs while these start.
    with quiet(case):
        if compilation.is_needed(case):
            precompile(case, protocol, prelude)
        with started(*job) as workers, leased(case) as leases:
            clocks = partial(devices.of(case).clocks, leases)
            began, before, beginning = datetime.now(UTC), clocks(), time.monotonic()
            results = results_of(workers, protocol, leases, another=partial(Worker, *job))
            wall, after = time.monotonic() - beginning, clocks()
    require_phases(results)
    agreement.require_same(results, "The processes of the case")
    for result in results[1:]:
        result["curve"] = []  # the record keeps the first process's, as it does its trace; the checks of all
        result.pop("trace", None)
    cost = cost_of(case, [result["facts"] for result in results])
    if ceilings is not None:
        require_possible(case, results, cost, ceilings)
    record.write(
        out,
        {
            "schema": record.SCHEMA,
            "machine": machine,
            "workload": case.workload,
            "variant": case.variant,
            "case": case.slug,
            "device": workloads.device(case),
            "cost": vars(cost),
            "protocol": protocol,
            "processes": results,
            "converged": is_converged(results, protocol),
            "sources": sources,
            "started": began.isoformat(timespec="seconds"),
            "wall": wall,
            "description": description.describe(),
            "clocks": {"before": before, "after": after},
            "source": revision.combine(origin, revision.current()),
            "environment": variables.for_record(environment.of_worker(case, prelude) | leases),
            "slurm": description.slurm(),
        },
    )
