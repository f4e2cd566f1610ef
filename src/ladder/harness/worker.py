"""The worker: one fresh process that checks one case, then times it. `workers.py` starts it, with pipes to it.

It receives its job as one line of JSON, answers `ready` once everything is imported, waits for a second line, `compile`
or `go` with variables of the environment in JSON, and answers with one line of JSON. Waiting workers cost next to
nothing, so their start-up overlaps with other work.
"""

import errno
import gc
import json
import sys
import time
from types import SimpleNamespace

import numpy as np

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import datasets, workloads
from ladder.errors import LadderError
from ladder.harness import curves, traces, validation
from ladder.harness.steps import Steps, in_order
from ladder.records.case import Case
from ladder.statistics.intervals import median_interval

# What the system says where a disk is full, or may not be written: no variant's mistake.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def main():
    """Run the job described by one line of JSON on standard input; exit with 1 and a sentence when it fails."""
    channel, sys.stdout = sys.stdout, sys.stderr  # nothing that a library prints may reach the protocol
    device = devices.load(sys.argv[1])

    def send(line):
        channel.write(line + "\n")  # at once, for another rank may be failing too
        channel.flush()

    try:
        if not (line := device.receive()):
            return
        job = SimpleNamespace(**json.loads(line))
        case = Case.parse(job.workload, job.variant, job.case)
        compiled = compilation.counter(case)
        workload = workloads.load(case.workload)
        variant = workloads.load_variant(case.workload, case.variant)
        compilation.load(case)
        device.start(case)
        if device.is_first():
            send(json.dumps({"ready": True}))
        order, _, variables = device.receive().strip().partition(" ")
        if not order:
            return
        device.set_variables(json.loads(variables or "{}"))
        with device.translate_errors():
            result = work(case, workload, variant, job) if order == "go" else run_once(case, workload, variant)
        if device.is_first():
            send(json.dumps(result | {"compiled": compiled()}))
    except LadderError as error:
        send(json.dumps({"error": str(error)}))
        sys.exit(1)
    except OSError as error:
        if error.errno not in FULL:
            stopped(send, error)
            raise
        send(json.dumps({"error": f"A file can't be written: {error.strerror}. Make room, then run again."}))
        sys.exit(1)
    except (Exception, SystemExit) as error:  # a rank that just left would be waited for without end
        stopped(send, error)
        raise


def stopped(send, error):
    """Say what has stopped the variant, whose traceback follows for its author."""
    send(json.dumps({"error": f"The variant stopped with {type(error).__name__}: {error}"}))


def work(case, workload, variant, job):
    """Set up, check, warm up, sample, check again, time the phases: the result as a dict for JSON, times in seconds."""
    began = time.perf_counter()
    device = devices.load(variant.DEVICE)
    name = workload.data_set(case.sizes)
    data = datasets.load(workload, job.data[name]) if name else None
    reference = dict(np.load(job.reference)) if job.reference else None
    precision = workloads.precision(case)
    problem = make_problem(workload, case, device, variant)
    generated = getattr(workload, "GENERATED", ())
    given = {name: array for name, array in problem.inputs.items() if name not in generated}
    staged = device.staging(given)
    steps, filled = Steps([]), (None, [])

    def begin(round):
        nonlocal filled
        if problem.inputs:
            # What is staged apart from the arrays that a run may change serves again.
            if filled[0] != round or staged is given:
                filled = round, workload.fill(staged, case.sizes, round, data)
            device.upload(staged, {name: given[name] for name in filled[1]})
        if generated:
            workload.generate(problem, round)
        in_order(steps.prepare)()

    def judge(round):
        if not problem.outputs:
            return [], None
        outputs = {name: device.to_host(array) for name, array in problem.outputs.items()}
        validation.require_finite(outputs, problem.output_kinds)
        inputs = staged
        if workload.STATEFUL:  # some of the inputs are results too
            inputs = {name: device.to_host(array) for name, array in problem.inputs.items()}
        found, points = workload.check(case.sizes, inputs, outputs, round, data, reference, precision)
        validation.require(found, f"round {round + 1}")
        return found, points

    begin(0)
    inputs_there = time.perf_counter()
    steps = Steps.of(variant.setup(problem, **case.tuning))
    run = steps.timed()
    in_order(steps.prepare)()
    ready = time.perf_counter()

    checks, curve, first = [], [], None
    for round in range(workload.rounds(case.sizes)):
        begin(round)
        validation.poison(problem.outputs)
        seconds = device.stopwatch(run)
        first = seconds if first is None else first
        passed, points = judge(round)
        checks += passed
        curve += [points] if isinstance(points, dict) else points or []
    found = device.threads_found()
    device.require_threads(case.threads, workloads.runtime(case), found)
    device.require_finished(run)

    # Timing repeats round 0; for a workload with state that means from the same state each time.
    begin(0)
    flush = device.flusher() if case.cache == "cold" else lambda: None
    checked = time.perf_counter()
    reset = (lambda: begin(0)) if workload.STATEFUL else (lambda: None)
    samples = sample(device, run, flush, reset, job)
    state = device.state(run) | (device.energy(run) if job.energy else {})
    begin(0)
    validation.poison(problem.outputs)
    run()
    checks += judge(0)[0]
    facts = {name: int(device.to_host(problem.outputs[name])[0]) for name in getattr(workload, "FACTS", ())}
    parts = [*steps.by_phase(), device.transfers(staged, problem)]
    return {
        "samples": samples,
        "setup": ready - inputs_there,
        "first": first,
        "check": checked - ready,
        "total": time.perf_counter() - began,
        **(phases(device, parts, reset, flush, job) if any(parts) else {"phases": []}),
        "checks": [vars(check) for check in worst(checks)],
        "facts": facts,
        "curve": curves.thinned(curves.checked(curve, case, getattr(workload, "CURVE", ()))),
        "threads": found,
        "state": state,
        "system": device.conditions(),
        **({"trace": traced(steps.trace, reset, flush, case)} if steps.trace else {}),
    }


def run_once(case, workload, variant):
    """Set up and run on zeros, so that what is compiled at a first run lies in Numba's cache; an empty result."""
    problem = make_problem(workload, case, devices.load(variant.DEVICE), variant)
    for array in {**problem.inputs, **problem.outputs}.values():
        array[...] = 0
    steps = Steps.of(variant.setup(problem, **case.tuning))
    in_order([*steps.prepare, *steps.run])()
    return {}


def make_problem(workload, case, device, variant=None):
    """What a variant's `setup` gets: sizes, device, and every array by its name (None where a form has none).

    A variant may place the new arrays' pages in memory, by being the first to touch them.
    """
    inputs, outputs = workload.arrays(case.sizes)
    names = getattr(workload, "ARRAYS", [*inputs, *outputs])
    if not device.is_first():
        inputs, outputs = {}, {}
    make = {name: device.empty(*kind) for name, kind in {**inputs, **outputs}.items()}
    problem = SimpleNamespace(
        sizes=case.sizes,
        device=device,
        inputs={name: make[name] for name in inputs},
        outputs={name: make[name] for name in outputs},
        output_kinds=outputs,
    )
    for name in names:
        setattr(problem, name, make.get(name))
    if hasattr(variant, "first_touch"):
        variant.first_touch(problem)
    return problem


def sample(device, run, flush, reset, job):
    """Seconds of each timed call: at least `job.samples`, then until the median is known or time is up.

    At least `job.least` are taken however long they last.
    """
    samples = []
    deadline = time.monotonic() + job.seconds
    gc.collect()
    gc.disable()
    reset()
    flush()
    run()  # warm up: the check has left other data in the caches
    while True:
        reset()
        flush()
        samples.append(device.stopwatch(run))
        enough = len(samples) >= job.samples and is_known(samples, job.target)
        late = device.broadcast(time.monotonic() > deadline) and len(samples) >= job.least
        if enough or late or len(samples) >= job.most:
            break
    gc.enable()
    return samples


def is_known(samples, target):
    """Whether the 95 % interval of this process's median is within the target."""
    median, low, high = median_interval(samples)
    return max(high - median, median - low) <= target * median


def phases(device, parts, reset, flush, job):
    """{phases}: seconds per named phase in passes of their own, [{phase: seconds}, ...]; {by_rank}: lists of them.

    `parts` are lists of (phase, function). Each part begins with what a timed call finds in the caches.
    """
    passes, by_rank = [], []
    for _ in range(job.phase_passes):
        reset()
        spent, ranks = {}, {}
        for steps in parts:
            flush()
            for name, step in steps:
                spent[name] = spent.get(name, 0.0) + device.stopwatch(step)
                ranks[name] = device.by_rank()
        passes.append(spent)
        by_rank.append(ranks)
    return {"phases": passes} | ({"by_rank": by_rank} if any(by_rank[0].values()) else {})


def traced(trace, reset, flush, case):
    """What runs beside what, in a run apart from those that are timed, which finds what a timed call does."""
    reset()
    flush()
    return traces.checked(trace(), case)


def worst(checks):
    """Of the checks of one name, the one nearest its bound."""
    found = {}
    for check in checks:
        if check.name not in found or check.error / check.bound > found[check.name].error / found[check.name].bound:
            found[check.name] = check
    return list(found.values())


if __name__ == "__main__":
    main()
