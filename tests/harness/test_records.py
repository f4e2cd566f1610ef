"""The source of each key of a record, tested with simulated workers and a simulated clock."""

import contextlib
import itertools
import json
import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from conftest import PROTOCOL
from ladder import devices
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import measure, worker, workers
from ladder.harness.steps import Steps
from ladder.harness.validation import Check
from ladder.machine import description, identity, revision
from ladder.planning import configuration
from ladder.records import campaigns
from ladder.records.case import Case

HOST = devices.load("host")
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)  # tick 0 of the simulated clock


def case_of(variant="cublas", dtype="float32", **tuning):
    sizes = {"form": "nn", "m": 17, "n": 5, "k": 9, "dtype": dtype}
    return Case("gemm", variant, workloads.complete("gemm", sizes), tuning, "warm")


# A measurement


def worker_answer(number):
    """The answer of the process with this number; all are different."""
    return {
        "samples": [number + 1.0, number + 1.0],
        "facts": {},
        "phases": [],
        "curve": [{"epoch": number}],
        "trace": [["lane", str(number), 0.0, 1.0]],
        "threads": {"gpu": {"uuid": "GPU-1"}},
    }


@pytest.fixture
def measure_case(monkeypatch):
    """A function that measures a case with simulated workers; returns the record that would be written.

    The record also has the workers' variables as `variables`, the arguments of all calls of `require_plausible` as
    `plausible`, and its path as `out`. Each stand-in that reads something advances the clock by a tick of one second.
    """
    written_record, worker_variables, plausibility_calls = {}, {}, []
    ticks, answer_numbers = itertools.count(), itertools.count()

    class SimulatedWorker:
        def __init__(self, *job):
            pass

        def wait_ready(self):
            pass

        def stop(self):
            pass

        def go(self, variables):
            worker_variables.update(variables)
            return worker_answer(next(answer_numbers))

    device = SimpleNamespace(clocks=lambda variables: [next(ticks), variables], can_start_together=lambda *job: True)
    for name, stand_in in {
        "Worker": SimulatedWorker,
        "require_preconditions": lambda *case: None,
        "hold_machine": lambda case, shared: contextlib.nullcontext(),
        "lease_devices": lambda case: contextlib.nullcontext({"GPUS": "3"}),
        "fingerprint": lambda case: f"of {case.variant} at {next(ticks)}",
        "time": SimpleNamespace(monotonic=lambda: 100.0 + next(ticks)),
        "datetime": SimpleNamespace(now=lambda zone: START + timedelta(seconds=next(ticks))),
        "require_plausible": lambda *arguments: plausibility_calls.append(arguments),
    }.items():
        monkeypatch.setattr(measure, name, stand_in)
    monkeypatch.setattr(measure.devices, "of", lambda case: device)
    monkeypatch.setattr(measure.compilation, "is_needed", lambda case: False)
    for module, name in ((description, "describe"), (description, "slurm"), (revision, "of_files")):
        monkeypatch.setattr(module, name, lambda *arguments, name=name: f"{name} at {next(ticks)}")
    monkeypatch.setenv(campaigns.VARIABLE, "a-campaign")
    monkeypatch.setattr(revision, "combine", lambda before, after: f"{before}, then {after}")
    monkeypatch.setattr(measure.environment, "of_worker", lambda *job: {"OMP_NUM_THREADS": "2"})
    monkeypatch.setattr(measure.record, "write", lambda out, record: written_record.update(record, out=out))

    def run(case, **options):
        protocol = configuration.protocol(PROTOCOL | {"processes": 2, "most_processes": 2})
        measure.measure(case, "there.json", protocol, "here", **options)
        return written_record | {"variables": worker_variables, "plausible": plausibility_calls}

    return run


def test_every_key_of_a_record_belongs_to_its_case_and_time(measure_case):
    document = measure_case(case_of(math="tf32"))
    assert (document["machine"], document["out"], document["device"]) == ("here", "there.json", "cuda")
    assert (document["workload"], document["variant"], document["case"]) == (
        "gemm",
        "cublas",
        case_of(math="tf32").slug,
    )
    assert document["protocol"] == configuration.protocol(PROTOCOL | {"processes": 2, "most_processes": 2})
    # Read in this order: the code at tick 0, its revision at 1, the date at 2, the GPU's clocks at 3, the time at 4.
    assert document["sources"] == "of cublas at 0"
    assert document["started"] == "2026-01-02T03:04:07+00:00"
    before, after = document["clocks"]["before"], document["clocks"]["after"]
    assert (before, after[1]) == ([3, {"GPUS": "3"}], {"GPUS": "3"})
    assert after[0] > before[0] + 1
    assert document["wall"] == after[0] - 1 - (before[0] + 1)  # from the tick after `before` to that before `after`
    assert document["variables"] == {"GPUS": "3"}
    assert all(
        document[key].startswith(f"{name} at ") for key, name in (("description", "describe"), ("slurm", "slurm"))
    )
    assert document["source"].startswith("of_files at 1, then of_files at ")
    assert document["environment"] == {"GPUS": "3", "OMP_NUM_THREADS": "2"}
    assert document["plausible"] == []
    assert document["campaign"] == "a-campaign"
    assert (document["host"], document["gpus"]) == (identity.host_digest(), [identity.digest("GPU-1")])


def test_curve_and_trace_are_kept_of_the_first_process_and_samples_of_all(measure_case):
    first, second = measure_case(case_of())["processes"]
    assert [process["samples"] for process in (first, second)] == [[1.0, 1.0], [2.0, 2.0]]
    assert (first["curve"], first["trace"]) == ([{"epoch": 0}], [["lane", "0", 0.0, 1.0]])
    assert second["curve"] == []
    assert "trace" not in second


def test_convergence_is_that_of_all_processes_together(monkeypatch, measure_case):
    calls = []
    monkeypatch.setattr(
        measure.intervals, "have_converged", lambda samples, target: calls.append((samples, target)) or True
    )
    assert measure_case(case_of())["converged"] is True
    assert calls[-1] == ([[1.0, 1.0], [2.0, 2.0]], configuration.protocol(PROTOCOL)["target"])


PRECISIONS = [
    ("gemm", "cublas", "float32", {}, "float32"),
    ("gemm", "cublas", "float32", {"math": "tf32"}, "tf32"),
    ("gemm", "cublas", "float64", {"math": "tf32"}, "float64"),
    ("gemm", "cublas_mixed", "float32", {"math": "tf32x3"}, "tf32x3"),
    ("gemm", "cuda_mma", "float32", {}, "tf32"),
    ("gemm", "cuda_mma", "float64", {}, "float64"),
    ("mlp", "cuda", "float32", {"product": "cuda_mma"}, "tf32"),
    ("mlp", "cuda", "float32", {"product": "cuda_tiled"}, "float32"),
    ("backprop", "cuda_fused", "float32", {"math": "tf32"}, "tf32"),
    ("backprop", "cuda_fused", "float64", {"math": "tf32"}, "float64"),
    ("tconv", "cuda_implicit_mma", "float32", {}, "tf32"),
    ("tconv", "cuda_implicit_mma", "float32", {"math": "bfloat16"}, "bfloat16"),
    ("tconv", "cuda_col2im", "float32", {"product": "cuda_mma"}, "tf32"),
    ("dcgan", "home", "float32", {}, "float32"),
    ("dcgan", "home", "float32", {"first": "cuda_implicit_mma"}, "tf32"),
    ("dcgan", "home", "float32", {"first": "cuda_implicit_mma", "math": "float16"}, "float16"),
]


@pytest.mark.parametrize(("workload", "variant", "dtype", "tuning", "expected"), PRECISIONS)
def test_the_precision_of_a_cost_is_that_of_the_arithmetic(monkeypatch, workload, variant, dtype, tuning, expected):
    """Samples are compared with ceilings, which are rates by precision."""
    module, case = workloads.load(workload), Case(workload, variant, {"dtype": dtype}, tuning)
    monkeypatch.setattr(module, "cost", lambda sizes: SimpleNamespace(flops=1, bytes=1, precision=sizes["dtype"]))
    assert measure.cost_of_results(case, [{"facts": {}}]).precision == expected


def test_samples_are_compared_with_the_ceilings_of_their_precision(measure_case):
    document = measure_case(case_of(math="tf32"), ceilings={"flops": {}})
    ((case, results, cost, ceilings),) = document["plausible"]
    assert (case.slug, ceilings, cost.precision, document["cost"]["precision"]) == (
        case_of(math="tf32").slug,
        {"flops": {}},
        "tf32",
        "tf32",
    )
    assert len(results) == 2


def test_the_granted_cores_must_suffice_for_the_threads_of_all_ranks(measure_case):
    sizes = workloads.complete("gemv", {"n": 5, "m": 5})
    case = Case("gemv", "mpi_openmp", sizes, {"ranks": 2, "threads": 2, "mode": "ship"}, "warm")
    with pytest.raises(LadderError, match="asks for 4 threads, but Snakemake grants 3 cores"):
        measure_case(case, granted_cores=3)
    assert measure_case(case, granted_cores=4)


def test_a_worker_gets_the_whole_protocol(monkeypatch):
    lines = []
    pipe = SimpleNamespace(write=lines.append, flush=lambda: None)
    monkeypatch.setattr(workers.subprocess, "Popen", lambda *command, **options: SimpleNamespace(stdin=pipe))
    counts = {"processes": 4, "most_processes": 9, "samples": 11, "least": 3, "most": 77, "phase_passes": 5}
    protocol = configuration.protocol(counts | {"target": 0.125, "cap": 10.0, "energy": False})
    case = case_of("blas", threads=1)
    workers.Worker(case, protocol, {"digits": "there"}, "reference.npz")
    job = json.loads(lines[0])
    assert job.pop("seconds") == 2.5
    assert job.pop("fault_report").startswith(f"/proc/{os.getpid()}/fd/")
    assert job == {
        **{"workload": "gemm", "variant": "blas", "case": case.slug},
        **{"data": {"digits": "there"}, "reference": "reference.npz"},
        **{"samples": 11, "least": 3, "most": 77, "target": 0.125, "phase_passes": 5, "energy": False},
        "cold_start": True,
    }


# A worker

# For simulated runs; that of conftest.py is for real ones.
JOB_PROTOCOL = {"seconds": 100.0, "samples": 2, "least": 2, "most": 2, "target": 1e9, "phase_passes": 2, "energy": True}
JOB_PROTOCOL |= {"cold_start": True}


class SimulatedRun:
    """A worker on a simulated clock, and its result.

    The n-th run takes 2**n s, counted from 0; filling the inputs takes 1000 s, waiting for other ranks 5000 s, and
    the set-up 100,000 s.
    """

    def __init__(self, monkeypatch, variant="blas", cache="warm", energy=True, cold_start=True, **tuning):
        self.clock, self.run_count, self.flush_count, self.precisions, self.pauses = 0.0, 0, 0, [], []
        gemm, case = workloads.load("gemm"), case_of(variant, **tuning)
        case = Case(case.workload, case.variant, case.sizes, case.tuning, cache)
        times = SimpleNamespace(perf_counter=lambda: self.clock, monotonic=lambda: self.clock)
        monkeypatch.setattr(worker, "time", times)
        for name, stand_in in {
            "require_threads": lambda *arguments: self.required_threads.append(arguments),
            "read_threads": lambda: {"runs": self.run_count},
            "start_together": lambda: self.spend(5000.0),
            "flusher": lambda: self.flush,
            "stopwatch": self.stopwatch,
            "state": lambda run, start: {"celsius": 33.0},
            "energy": lambda run: {"joules": 7.0, "sustained": 0.5},
            "transfers": lambda staged, problem: [("to device", lambda: self.spend(1e6))],
        }.items():
            monkeypatch.setattr(HOST, name, stand_in)
        self.required_threads = []
        stand_ins = {"fill": self.fill, "check": self.check}
        workload = SimpleNamespace(**{name: getattr(gemm, name) for name in dir(gemm)} | stand_ins)
        job = SimpleNamespace(data={}, reference=None, **JOB_PROTOCOL | {"energy": energy, "cold_start": cold_start})
        variant = SimpleNamespace(DEVICE="host", setup=self.setup)
        self.result = worker.run_case(case, workload, variant, job, lambda: self.pauses.append(self.clock))

    def spend(self, seconds):
        self.clock += seconds

    def stopwatch(self, run):
        before = self.clock
        run()
        return self.clock - before

    def flush(self):
        self.flush_count += 1

    def fill(self, inputs, *arguments):
        self.spend(1000.0)
        return workloads.load("gemm").fill(inputs, *arguments)

    def check(self, sizes, inputs, outputs, round, data, reference, precision):
        self.precisions.append(precision)
        return [Check("half", 0.5 + round / 4, 1.0)], None

    def setup(self, problem, **tuning):
        self.spend(100_000.0)

        def run():
            self.spend(2.0**self.run_count)
            self.run_count += 1
            problem.out[...] = 1

        def after_run():
            self.spend(10.0)

        return Steps([("product", run), ("rest", after_run), ("rest", after_run)])


def test_the_times_in_a_result_are_those_of_its_parts(monkeypatch):
    simulated = SimulatedRun(monkeypatch)
    result = simulated.result
    assert result["setup"] == 100_000.0
    assert result["first"] == 2.0**0 + 20  # run 0; run 1 warms up
    assert result["samples"] == [2.0**2 + 20, 2.0**3 + 20]
    assert [phases["rest"] for phases in result["phases"]] == [20.0, 20.0]
    assert [phases["product"] for phases in result["phases"]] == [2.0**4, 2.0**5]
    assert all(phases["to device"] == 1e6 for phases in result["phases"])
    assert result["check"] == 1000 + 2.0**7 + 20  # the second round; run 6 follows the timed ones
    assert result["total"] == simulated.clock


@pytest.mark.parametrize(("cold_start", "start"), [(True, 1000.0), (False, 106_000.0)])
def test_a_worker_pauses_before_its_set_up_only_if_its_cold_start_is_timed(monkeypatch, cold_start, start):
    simulated = SimulatedRun(monkeypatch, cold_start=cold_start)
    first, second = simulated.pauses
    assert first == start
    assert second == simulated.clock - simulated.result["check"] - (2.0**6 + 20)


def test_threads_are_read_after_the_first_run_and_before_any_sample(monkeypatch):
    """A runtime may have no threads before its first parallel region."""
    simulated = SimulatedRun(monkeypatch, threads=3)
    assert simulated.result["threads"] == {"runs": 1}
    assert simulated.required_threads == [(3, "blas", {"runs": 1})]


def test_the_result_has_the_state_and_if_requested_the_energy(monkeypatch):
    assert SimulatedRun(monkeypatch).result["state"] == {"celsius": 33.0, "joules": 7.0, "sustained": 0.5}
    assert SimulatedRun(monkeypatch, energy=False).result["state"] == {"celsius": 33.0}


def test_the_worst_check_of_all_rounds_is_in_the_result(monkeypatch):
    assert SimulatedRun(monkeypatch).result["checks"] == [{"name": "half", "error": 0.75, "bound": 1.0}]


@pytest.mark.parametrize(("cache", "count"), [("warm", 0), ("cold", 3 + 2 * 3)])
def test_cold_cases_flush_caches_before_timed_calls_and_phases(monkeypatch, cache, count):
    """Caches are flushed before the warm-up, each of 2 samples, and each of 3 parts in 2 passes of the phases."""
    assert SimulatedRun(monkeypatch, cache=cache).flush_count == count


@pytest.mark.parametrize(("tuning", "expected"), [({}, "float32"), ({"math": "tf32"}, "tf32")])
def test_results_are_checked_by_the_precision_of_the_arithmetic(monkeypatch, tuning, expected):
    assert set(SimulatedRun(monkeypatch, "cublas", **tuning).precisions) == {expected}
