"""The only harness: it runs a case in fresh workers, one after the other on a quiet machine, and keeps what they say.

What is timed and what is not stands in `worker.py`; how long sampling goes on, in the protocol of the configuration.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from functools import partial

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import workloads
from ladder.catalogue.sources import fingerprint
from ladder.errors import LadderError
from ladder.machine import description, revision
from ladder.records.files import read_json, write_atomically
from ladder.records.locks import quiet_machine
from ladder.records.record import SCHEMA, write
from ladder.statistics.intervals import converged

# Seconds that a worker has for starting, which takes long from a slow file system, for giving back what it holds once
# it has answered, and for ending when told to.
START, LEAVE, PATIENCE = 300, 60, 5


class Worker:
    """A started worker process and its pipes."""

    def __init__(self, case, protocol, data=None, reference=None, launcher=None):
        self.case, self.device = case, device_of(case)
        command = self.device.command(case, launcher)
        self.is_launched = bool(command)
        self.is_ready, self.is_late, self.ends = False, False, False
        self.process = subprocess.Popen(
            [*command, sys.executable, "-m", "ladder.harness.worker", workloads.device(case)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                "NUMBA_CACHE_DIR": str(compilation.folder(case)),
                **os.environ,
                **self.device.environment(case.threads),
                **workloads.environment(case),
            },
            preexec_fn=partial(devices.load("host").die_with_parent, os.getpid()),
            start_new_session=True,  # so that what a launcher has started can be ended with it
            text=True,
        )
        self.job = {
            "workload": case.workload,
            "variant": case.variant,
            "case": case.slug,
            "data": data or {},
            "reference": reference,
            "seconds": protocol["cap"] / protocol["processes"],
            **{name: protocol[name] for name in ("samples", "least", "most", "target", "phase_passes")},
        }
        self.tell(json.dumps(self.job))

    def tell(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died, which `hear` will say

    def hear(self):
        """The worker's next answer, a dict. Raises LadderError with what it said before it died."""
        for line in self.process.stdout:
            if answer := said(line):
                if "error" in answer:
                    raise LadderError(answer["error"])
                return answer
            print(line, end="", file=sys.stderr)  # a launcher's own words
        code = self.process.wait()
        cause = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        hint = " (out of memory?)" if code == -9 else ""
        if self.is_launched and not self.is_ready:
            hint = f" ({self.device.doubt()})"
        raise LadderError(f"The measuring process {cause}{hint} before it had a result: see the log.")

    def wait_ready(self):
        """Raises LadderError also when it, or ranks that a launcher should have started, don't get ready in time."""
        limit = threading.Timer(START, self.give_up)
        limit.start()
        try:
            self.hear()
        except LadderError:
            if not self.is_late:
                raise
        finally:
            limit.cancel()
            limit.join()
        if self.is_late:
            hint = f": {self.device.doubt()}" if self.is_launched else "."
            raise LadderError(f"The measuring process wasn't ready after {START} s{hint}")
        self.is_ready = True

    def give_up(self):
        """End it because it isn't ready."""
        self.is_late = True
        self.end()

    def go(self, variables=None):
        """Check and time now, on what these variables of the environment name; the worker's result."""
        self.tell(f"go {json.dumps(variables or {})}")
        return self.answered()

    def compile(self):
        """Run once now, unchecked and untimed; {"compiled": how many functions Numba compiled}."""
        self.tell("compile")
        return self.answered()

    def answered(self):
        """The answer to an order, after which the worker ends."""
        answer = self.hear()
        self.ends = True
        return answer

    def stop(self):
        """End it and close its pipes, unless that is done."""
        if self.process.stdout.closed:
            return
        self.end()
        with contextlib.suppress(BrokenPipeError):  # what it was told after it had died
            self.process.stdin.close()
        self.process.stdout.close()

    def end(self):
        """A launcher ends with its ranks, or takes them along when it is told to; what is left after that is killed."""
        if not (self.is_launched and self.ends and self.is_gone(LEAVE)):
            self.process.terminate()
            if not self.is_gone(PATIENCE):
                self.process.kill()
                if self.is_launched:  # its guard may end ranks on other nodes, which no signal reaches
                    time.sleep(PATIENCE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def is_gone(self, seconds):
        """Whether it ends in so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None


def said(line):
    """The dict that a line begins with, or None. Ranks that fail together may come to share a line."""
    try:
        found, _ = json.JSONDecoder().raw_decode(line)
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def precompile(case, protocol):
    """Have Numba compile what a case's kind of problem needs, unless that is done; the note of it, as a dict.

    A variant that fails here is told so by its measurement.
    """
    small, path, due = compilation.smallest(case), compilation.place(case), compilation.state(case)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (compilation.folder(case) / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # of two processes that write to one index of Numba's, one would be forgotten
        if path.exists() and (note := read_json(path)).get("state") == due:
            return note
        worker = Worker(small, protocol)
        try:
            worker.wait_ready()
            found = worker.compile()
        except LadderError as error:
            found = {"failed": str(error)}
        finally:
            worker.stop()
        note = {"state": due, **found}
        write_atomically(path, json.dumps(note, indent=1) + "\n")
    return note


def device_of(case):
    """The device that a case is timed on."""
    return devices.load(workloads.device(case))


def quiet(*cases):
    """Hold the machine for cases until they are done: alone, or with others who work on cards of their own."""
    return quiet_machine(shared=all(device_of(case).SHARES_MACHINE for case in cases))


@contextlib.contextmanager
def leased(*cases):
    """Hold what cases are timed on besides, cards for example; the variables by which their workers find it."""
    counts = {}
    for case in cases:
        lease = device_of(case).lease  # one for all devices that lease the same
        counts[lease] = max(counts.get(lease, 1), case.ranks)
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(lease(count)) for lease, count in counts.items()]
        yield {name: value for variables in found for name, value in variables.items()}


@contextlib.contextmanager
def started(case, protocol, data, reference, launcher):
    """A list of workers that are ready, to which more may be added; all are stopped in the end."""
    workers = []
    try:
        # All start at once, since imports run side by side; then one measures while the others wait.
        at_once = protocol["processes"] if device_of(case).share_start(case, launcher) else 1
        workers += [Worker(case, protocol, data, reference, launcher) for _ in range(at_once)]
        for worker in workers:
            worker.wait_ready()
        yield workers
    finally:
        for worker in workers:
            worker.stop()


def results_of(workers, protocol, variables, another):
    """The results of these workers in order, and of as many of `another()` as it takes until the median is known."""
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
    return converged([result["samples"] for result in results], protocol["target"])


def require_possible(case, results, cost, ceilings):
    """Refuse samples faster than the machine's measured ceilings allow: they come from a clock or a kernel that lies.

    `ceilings` holds FLOP/s of one core by precision and B/s of all cores, the best ever seen on this machine, the same
    of other devices by their names, and the `margin` by which a quieter moment may exceed them.
    """
    whose = device_of(case).CEILINGS
    own = ceilings if whose == "host" else ceilings.get(whose)
    if own is None:
        return
    fastest = min(min(result["samples"]) for result in results)
    rate = own["flops"].get(cost.precision)
    floors = {"arithmetic": cost.flops / (rate * case.cores) if rate else 0.0}
    if case.cache == "cold" and own["bandwidth"]:
        # Ranks may each have a card's memory, or a node's.
        floors["memory traffic"] = (cost.bytes / case.ranks - own["cache_bytes"]) / own["bandwidth"]
    for what, floor in floors.items():
        if fastest < floor / ceilings["margin"]:
            raise LadderError(
                f"A sample of {fastest:.3g} s is impossible: by the ceilings measured on this machine the {what} "
                f"alone takes {floor:.3g} s. Look for work left out, or measure the ceilings again."
            )


def measure(case, out, protocol, machine, data=None, reference=None, ceilings=None, granted=None, launcher=None):
    """Measure a case and write its record to `out`. Raises LadderError and writes nothing when anything is wrong."""
    if granted is not None and granted < case.cores:
        raise LadderError(
            f"The case asks for {case.cores} threads, but Snakemake grants {granted} cores: raise --cores, "
            "or lower `cores` in the configuration so that the case is left out."
        )
    workloads.require_sound(case)
    workload = workloads.load(case.workload)
    if reference is None and workload.reference_sizes(case.sizes):
        raise LadderError(f"{case.key} is checked against a reference: write it with the verb `reference` and name it.")
    cost = workload.cost(case.sizes)
    cost.precision = workloads.precision(case)
    sources = fingerprint(case)
    job = case, protocol, data, reference, launcher
    # A card is asked for once the workers are ready, so that it works for another job while they start.
    with quiet(case):
        if compilation.is_needed(case):
            precompile(case, protocol)
        with started(*job) as workers, leased(case) as variables:
            card = variables.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0]
            began, before, beginning = datetime.now(UTC), description.clocks(card), time.monotonic()
            results = results_of(workers, protocol, variables, another=partial(Worker, *job))
            wall, after = time.monotonic() - beginning, description.clocks(card)
    if ceilings is not None:
        require_possible(case, results, cost, ceilings)
    write(
        out,
        {
            "schema": SCHEMA,
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
            "source": revision.current(),
            "slurm": description.slurm(),
        },
    )
