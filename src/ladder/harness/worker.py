"""The worker: a fresh process that times one case, then checks it. `workers.py` starts it and talks to it by pipes.

It receives its job as one line of JSON and answers `ready` once everything is imported. Then it waits for an order, the
line `compile`, `go` or `prepare` with environment variables in JSON, and answers with one line of JSON. A worker that
prepares pauses once its inputs are ready and again before its checks, until the next line. A waiting worker
uses almost no CPU time, so workers can start up, prepare and check while none measures.
"""

import contextlib
import errno
import faulthandler
import gc
import inspect
import json
import os
import sys
import time
from functools import partial
from types import SimpleNamespace

import numpy as np

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import code_errors, datasets, traits, workloads, wrong_results
from ladder.catalogue.declarations import Declarations
from ladder.errors import LadderError
from ladder.harness import crashes, curves, traces, validation
from ladder.harness.contract import Problem
from ladder.harness.steps import Steps, chain_steps
from ladder.machine import processes
from ladder.records.case import Case
from ladder.statistics.intervals import median_interval

# Why a variant whose first round was right may be wrong later, and why one whose input differs after a run is wrong.
KEPT_INPUTS = (
    "The first round was right, and inputs are rewritten between rounds: `setup` may have kept a copy of its inputs or "
    "something computed from them. Do that in the timed function, or in a `prepare` step: see `Steps` in "
    "docs/contracts.md."
)
CHANGED_INPUT = (
    "The variant has changed its input {!r}, which its other calls and the check read: write into arrays of your own."
)
# Inputs up to this size in total are compared after the calls with what they were before.
MAX_COMPARED_BYTES = 2**24
# Error numbers of a disk that is full or read-only.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def main():
    """Run the job described by one line of JSON on standard input; exit with 1 and a sentence if it fails."""
    path = None  # of the variant
    channel, sys.stdout = sys.stdout, sys.stderr  # what a library prints must not reach the channel
    device = devices.load(sys.argv[1])

    def send(line):
        channel.write(line + "\n")  # in one call, since another rank may fail at the same time
        channel.flush()

    try:
        if not (line := device.receive()):
            return
        job = SimpleNamespace(**json.loads(line))
        report_faults(job.fault_report)
        case = Case.parse(job.workload, job.variant, job.case)
        path = workloads.variant_path(case.workload, case.variant)
        compiled = compilation.compilation_counter(case)
        workload = workloads.load(case.workload)
        variant = workloads.load_variant(case.workload, case.variant)
        compilation.load_numba(case)
        device.start(case)
        if device.is_first():
            send(json.dumps({"ready": True}))
        order, _, variables = device.receive().strip().partition(" ")
        if not order:
            return
        device.set_variables(json.loads(variables or "{}"))
        with device.translate_errors():
            if order == "compile":
                result = run_once(case, workload, variant)
            else:
                pause = partial(wait_for_order, device, send) if order == "prepare" else lambda: None
                result = run_case(case, workload, variant, job, pause, partial(tell_first_call, device, send))
        if device.is_first():
            send(json.dumps(result | {"compiled": compiled()}))
    except LadderError as error:
        send(json.dumps({"error": str(error)}))
        sys.exit(1)
    except (Exception, SystemExit) as error:  # the harness would wait forever for a rank that exits silently
        if sentence := refusal_of_system(error):
            send(json.dumps({"error": sentence}))
            sys.exit(1)
        report_crash(send, error, path)
        sys.exit(1)


def report_faults(path):
    """Write the call stack to a file that the harness has created, if a signal ends this process."""
    with contextlib.suppress(OSError):  # a rank on another node doesn't see the file
        faulthandler.enable(os.open(path, os.O_WRONLY))


def tell_first_call(device, send):
    """Tell the harness that the first call has ended."""
    if device.is_first():
        send(json.dumps({"called": True}))


def wait_for_order(device, send):
    """Tell the harness that this worker pauses, and wait for its next line; exit if it has gone."""
    if device.is_first():
        send(json.dumps({"paused": True}))
    if not device.receive():
        sys.exit(1)


def refusal_of_system(error):
    """A sentence for an error caused by the system and not by the variant; None for any other error."""
    if processes.is_at_limit(error):
        return processes.LIMIT_MESSAGE
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        return f"A file can't be written: {error.strerror}. Free some space, then run again."
    return None


def report_crash(send, error, path):
    """Send the error that has stopped the variant in the file `path`, and its traceback."""
    sentence = (
        f"{code_errors.describe(error, 'The variant', path)}.{code_errors.advice_on_import(error, is_variant=True)}"
    )
    send(json.dumps({"error": sentence, "traceback": crashes.traceback_of(error, path)}))


def run_case(case, workload, variant, job, pause=lambda: None, tell_first_call=lambda: None):
    """Set up, time the first call, sample, time the phases, check; returns a dict for JSON, with times in seconds.

    `job` has the keys of `Worker.job` as attributes. A round is a run on its own inputs. All rounds are checked; only
    round 0 is timed. The first call's outputs are checked too, and those of a call after the samples. `pause` is called
    before and after what is timed, which includes the set-up if the job has `cold_start`; `tell_first_call` is called
    after the first call.
    """
    start = time.perf_counter()
    device = devices.load(variant.DEVICE)
    declarations = Declarations(workload, workloads.workload_path(case.workload))
    name = workload.data_set(case.sizes)
    data = datasets.load(workload, job.data[name]) if name else None
    reference = dict(np.load(job.reference)) if job.reference else None
    precision = traits.precision(case)
    problem = make_problem(workload, case, device, variant)
    inputs = {name: array for name, array in problem.inputs.items() if name not in workload.GENERATED}
    staged = device.staging_arrays(inputs, pinned=job.phase_passes > 0)
    steps, last_fill = Steps([]), (None, [])  # the last written round, and the names of its written inputs
    is_compared = not workload.STATEFUL and sum(array.nbytes for array in inputs.values()) <= MAX_COMPARED_BYTES
    # The inputs as they were at the beginning of the round, to see whether a run changes them; empty if not compared.
    original_inputs = staged if is_compared and staged is not inputs else {}

    def begin_round(round):
        """Write the inputs of a round, and prepare its run."""
        nonlocal last_fill, original_inputs
        if problem.inputs:
            # Staged arrays are filled once per round, unless they are the inputs themselves, which a run may change.
            if last_fill[0] != round or staged is inputs:
                last_fill = round, workload.fill(staged, case.sizes, round, data)
                declarations.require_filled_names(last_fill[1], staged)
            device.upload(staged, {name: inputs[name] for name in last_fill[1]})
            if is_compared and staged is inputs:
                original_inputs = {name: array.copy() for name, array in inputs.items()}
        if workload.GENERATED:
            workload.generate(problem, round)
        chain_steps(steps.prepare)()

    def run_results():
        """The arrays that a run has written, in the host's memory: outputs and, of a workload with state, inputs."""
        written = [problem.outputs, problem.inputs] if workload.STATEFUL and problem.outputs else [problem.outputs]
        return [{name: device.to_host(array) for name, array in arrays.items()} for arrays in written]

    def check(round, outputs, check_inputs=staged):
        """Check the results of a round's run; returns its Checks and the points of its curve."""
        if not problem.outputs:
            return [], None
        validation.require_finite(outputs, problem.output_kinds)
        results = workload.check(case.sizes, check_inputs, outputs, round, data, reference, precision)
        declarations.require_checks(results, round)
        new_checks, points = results
        changed = changed_input()
        hints = [validation.hint_on_poison(outputs), changed or (KEPT_INPUTS if round else "")]
        validation.require(new_checks, f"round {round + 1}", " ".join(filter(None, hints)))
        if changed and staged is inputs:  # the check has read the changed ones, too
            raise LadderError(changed)
        return new_checks, points

    def changed_input():
        """A sentence on an input that differs from what was written at the beginning of the round; else empty."""
        for name, array in original_inputs.items():
            if not np.array_equal(array, device.to_host(inputs[name]), equal_nan=True):
                return CHANGED_INPUT.format(name)
        return ""

    def require_refusal(outputs, check_inputs=staged):
        """Corrupt `outputs` in place, and refuse a user's own `check` that still accepts them."""
        if problem.outputs and inspect.isfunction(workload.check) and workloads.is_user_workload(case.workload):
            wrong_results.corrupt(outputs)
            results = workload.check(case.sizes, check_inputs, outputs, 0, data, reference, precision)
            if all(check.passed for check in results[0]):
                declarations.refuse("check", wrong_results.ACCEPTS_WRONG_OUTPUTS)

    begin_round(0)
    if job.cold_start:
        pause()
    device.start_together()
    inputs_end = time.perf_counter()
    steps = Steps.of_variant(variant, problem, case.tuning)
    run = steps.timed()
    chain_steps(steps.prepare)()
    setup_end = time.perf_counter()
    if not job.cold_start:
        pause()

    # A workload with state starts every call from the same state; a set-up that records a graph may have changed it.
    reset = (lambda: begin_round(0)) if workload.STATEFUL else (lambda: None)
    reset()
    validation.poison(problem.outputs)
    first_seconds = device.stopwatch(run)
    tell_first_call()
    first_results = [{name: array.copy() for name, array in arrays.items()} for arrays in run_results()]
    threads = device.read_threads()
    device.require_threads(case.threads, traits.runtime(case), threads)
    device.require_finished(run)

    # Timing repeats round 0.
    flush = device.flusher() if case.cache == "cold" else lambda: None
    sampling_start = time.monotonic()
    samples = take_samples(device, run, flush, reset, job)
    state = device.state(run, sampling_start) | (device.energy(run) if job.energy else {})
    parts = [*steps.by_phase(), device.transfers(staged, problem)] if job.phase_passes else []
    times_of_phases = time_phases(device, parts, reset, flush, job) if any(parts) else {"phases": []}
    trace = {"trace": run_trace(steps.trace, reset, flush, case)} if steps.trace else {}
    pause()

    reset()
    validation.poison(problem.outputs)
    run()
    facts = {name: int(device.to_host(problem.outputs[name])[0]) for name in workload.FACTS}
    check_start = time.perf_counter()
    checks = check(0, *run_results())[0]
    curve = []
    for round in range(workload.rounds(case.sizes)):
        if round:
            begin_round(round)
            validation.poison(problem.outputs)
            run()
        results = run_results() if round else first_results
        new_checks, points = check(round, *results)
        checks += new_checks
        if not round:
            require_refusal(*results)
        curve += [points] if isinstance(points, dict) else points or []
    check_end = time.perf_counter()
    return {
        "samples": samples,
        "setup": setup_end - inputs_end,
        "first": first_seconds,
        "check": check_end - check_start,
        "total": check_end - start,
        **times_of_phases,
        "checks": [{"name": each.name, "error": each.error, "bound": each.bound} for each in worst_by_name(checks)],
        "facts": facts,
        "curve": curves.thin(curves.validate(curve, case, workload.CURVE)),
        "threads": threads,
        "state": state,
        "system": device.conditions(),
        **trace,
    }


def run_once(case, workload, variant):
    """Set up and run once on zeros, so that Numba compiles all functions into its cache; returns an empty dict."""
    problem = make_problem(workload, case, devices.load(variant.DEVICE), variant)
    for array in {**problem.inputs, **problem.outputs}.values():
        array[...] = 0
    steps = Steps.of_variant(variant, problem, case.tuning)
    chain_steps([*steps.prepare, *steps.run])()
    return {}


def make_problem(workload, case, device, variant=None):
    """The argument of a variant's `setup`: sizes, device, and every array as an attribute, None if the case lacks it.

    A variant may have a function `first_touch`, which determines on which NUMA nodes the pages of new arrays lie.
    """
    inputs, outputs = workload.arrays(case.sizes)
    names = getattr(workload, "ARRAYS", [*inputs, *outputs])
    if not device.is_first():
        inputs, outputs = {}, {}
    arrays = {name: device.empty(shape, dtype) for name, (shape, dtype) in {**inputs, **outputs}.items()}
    problem = Problem(
        sizes=case.sizes,
        device=device,
        inputs={name: arrays[name] for name in inputs},
        outputs={name: arrays[name] for name in outputs},
        output_kinds=outputs,
    )
    for name in names:
        setattr(problem, name, arrays.get(name))
    if hasattr(variant, "first_touch"):
        variant.first_touch(problem)
    return problem


def take_samples(device, run, flush, reset, job):
    """Seconds of each timed call.

    Sampling ends once there are `job.samples` and the median has converged, or once time is up and there are
    `job.least`; at the latest after `job.most`.
    """
    samples = []
    deadline = time.monotonic() + job.seconds
    gc.collect()
    gc.disable()
    reset()
    flush()
    run()  # warm up: copying the first call's results has left other data in the caches
    while True:
        reset()
        flush()
        samples.append(device.stopwatch(run))
        is_enough = len(samples) >= job.samples and is_converged(samples, job.target)
        is_late = device.broadcast(time.monotonic() > deadline) and len(samples) >= job.least
        if is_enough or is_late or len(samples) >= job.most:
            break
    gc.enable()
    return samples


def is_converged(samples, target):
    """Whether the 95 % interval of this process's median is within the target."""
    median, low, high = median_interval(samples)
    return max(high - median, median - low) <= target * median


def time_phases(device, parts, reset, flush, job):
    """{"phases": [{phase: seconds}, ...]}, timed in separate passes; on ranks also `by_rank`, the seconds by rank.

    `parts` are lists of (phase, function): of the preparation, of the run and of the copies. Each part starts with the
    caches in the state of a timed call.
    """
    passes, by_rank = [], []
    for _ in range(job.phase_passes):
        reset()
        seconds, rank_seconds = {}, {}
        for steps in parts:
            flush()
            for name, step in steps:
                seconds[name] = seconds.get(name, 0.0) + device.stopwatch(step)
                rank_seconds[name] = device.seconds_by_rank()
        passes.append(seconds)
        by_rank.append(rank_seconds)
    return {"phases": passes} | ({"by_rank": by_rank} if any(any(ranks.values()) for ranks in by_rank) else {})


def run_trace(trace, reset, flush, case):
    """The trace of a separate, untimed run, which starts in the state of a timed call."""
    reset()
    flush()
    return traces.validate(trace(), case)


def worst_by_name(checks):
    """For each name of a check, the result nearest to its bound, or farthest above it."""
    worst = {}
    for check in checks:
        if check.name not in worst or check.error / check.bound > worst[check.name].error / worst[check.name].bound:
            worst[check.name] = check
    return list(worst.values())


if __name__ == "__main__":
    main()
