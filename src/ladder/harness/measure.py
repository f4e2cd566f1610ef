"""Measure a case: run fresh workers one after the other on a quiet machine, and record their results.

`worker.py` defines what is timed. The protocol of the configuration defines how long sampling continues.
"""

import contextlib
import time
from datetime import UTC, datetime
from functools import partial

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import soundness, traits, workloads
from ladder.catalogue.sources import code_paths, fingerprint
from ladder.errors import LadderError, pluralize
from ladder.harness import environment
from ladder.harness.leases import hold_machine, lease_devices
from ladder.harness.plausibility import require_plausible
from ladder.harness.precompile import precompile
from ladder.harness.preconditions import require_granted, require_preconditions
from ladder.harness.progress import SilentProgress, percent
from ladder.harness.workers import Worker
from ladder.machine import description, identity, revision, variables
from ladder.records import agreement, campaigns, record
from ladder.statistics import intervals


@contextlib.contextmanager
def start_workers(case, protocol, data, reference, launcher, prelude=()):
    """A context that yields a list of ready workers and stops them at its end; the caller may append more workers."""
    workers = []
    try:
        # All start together, so that their imports overlap; then one measures while the others wait.
        count = protocol["processes"]
        if not devices.of(case).can_start_together(case, launcher, count):
            count = 1
        workers += [Worker(case, protocol, data, reference, launcher, prelude) for _ in range(count)]
        if protocol["most_processes"] > 1:
            intervals.student_quantile()  # its slow imports overlap with those of the workers
        for worker in workers:
            worker.wait_ready()
        yield workers
    finally:
        for worker in workers:
            worker.stop()


def results_of(workers, protocol, variables, start_worker):
    """Yield the results of these workers in order, and of further ones from `start_worker()` until they converge."""
    results = []
    deadline = time.monotonic() + protocol["cap"]
    for worker in workers:  # the loop appends to this list
        results.append(worker.go(variables))
        worker.stop()
        yield results[-1]
        if len(results) < len(workers):
            continue
        is_required, is_allowed = (len(results) < protocol[name] for name in ("processes", "most_processes"))
        if is_required or (is_allowed and not is_converged(results, protocol) and time.monotonic() < deadline):
            workers.append(start_worker())
            workers[-1].wait_ready()


class Interruption(KeyboardInterrupt):
    """Ctrl-C during a measurement, with the results so far."""

    def __init__(self, results):
        super().__init__()
        self.results = results


def is_converged(results, protocol):
    """Whether the 95 % interval of the median over all processes is within the protocol's target."""
    return intervals.have_converged([result["samples"] for result in results], protocol["target"])


def require_phases(results):
    """Refuse a phase named `total`, which is a whole call in the tables. Raises LadderError."""
    if any("total" in phases for result in results for phases in result["phases"]):
        raise LadderError("A phase of the variant is called `total`, which means the whole call: rename it.")


def cost_of_results(case, results):
    """The cost of a run; if it depends on facts that a run finds, that of each fact's minimum over the processes."""
    workload, facts = workloads.load(case.workload), [result["facts"] for result in results]
    minima = {name: min(process[name] for process in facts) for name in facts[0]}
    cost = workload.cost(case.sizes, minima) if minima else workload.cost(case.sizes)
    cost.precision = traits.precision(case)
    return cost


def measure(
    case,
    out,
    protocol,
    machine,
    data=None,
    reference=None,
    ceilings=None,
    granted_cores=None,
    launcher=None,
    prelude=(),
    progress=None,
):
    """Measure a case and write its record to `out`. Raises LadderError, and writes nothing, if anything is wrong.

    `granted_cores` is the number that Snakemake grants the job; `prelude` holds the variables that a cluster node's
    prelude has set. `progress` shows the result of each process. Ctrl-C raises Interruption.
    """
    progress = progress or SilentProgress()
    require_granted(case, granted_cores)
    soundness.require_sound(case)
    require_preconditions(case, reference)
    sources, revision_before = fingerprint(case), revision.of_files(code_paths(case))
    worker_arguments = case, protocol, data, reference, launcher, prelude
    # GPUs are leased once the workers are ready, so that other jobs can use them until then.
    with hold_machine(case, shared=protocol.get("share_machine", False)):
        if compilation.is_needed(case):
            precompile(case, protocol, prelude)
        with start_workers(*worker_arguments) as workers, lease_devices(case) as leases:
            clocks = partial(devices.of(case).clocks, leases)
            started, clocks_before, start = datetime.now(UTC), clocks(), time.monotonic()
            new_results = results_of(workers, protocol, leases, partial(Worker, *worker_arguments))
            results = collect(new_results, protocol, progress)
            wall, clocks_after = time.monotonic() - start, clocks()
    times = {"started": started.isoformat(timespec="seconds"), "wall": wall}
    times["clocks"] = {"before": clocks_before, "after": clocks_after}
    document = document_of(case, results, protocol, environment.of_worker(case, prelude) | leases)
    if ceilings is not None:
        require_plausible(case, results, cost_of_results(case, results), ceilings)
    source = {"sources": sources, "source": revision.combine(revision_before, revision.of_files(code_paths(case)))}
    origin = {"machine": machine, "campaign": campaigns.of_run(), "description": description.describe()}
    record.write(out, document | times | source | origin)


def collect(new_results, protocol, progress):
    """The list of the results that an iterator yields. Raises Interruption with those so far."""
    results = []
    try:
        for new_result in new_results:
            results.append(new_result)
            summary = intervals.summary([result["samples"] for result in results])
            progress.show(
                f"{pluralize(len(results), 'process')}: median {summary.median:.4g} s, known within "
                f"{percent(summary.relative_half_width)}, target {percent(protocol['target'])}."
            )
    except KeyboardInterrupt:
        raise Interruption(results) from None
    finally:
        progress.clear()
    return results


def document_of(case, results, protocol, variables_of_worker):
    """What a record says of a case's results. Raises LadderError for processes that can't be pooled."""
    require_phases(results)
    agreement.require_same(results, "The processes of the case")
    for result in results[1:]:
        result["curve"] = []  # the record keeps the checks of all processes, but only the first one's curve and trace
        result.pop("trace", None)
    return {
        "schema": record.SCHEMA_VERSION,
        "workload": case.workload,
        "variant": case.variant,
        "case": case.slug,
        "device": traits.device(case),
        "cost": vars(cost_of_results(case, results)),
        "protocol": protocol,
        "processes": results,
        "converged": is_converged(results, protocol),
        "host": identity.host_digest(),
        "gpus": sorted({gpu for result in results for gpu in identity.gpu_digests(result["threads"])}),
        "environment": variables.variables_to_record(variables_of_worker),
        "slurm": description.slurm(),
    }
