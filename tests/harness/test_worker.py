"""What a worker does on an order, and the result of a case, by a simulated clock."""

import io
import json
import sys
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from ladder import devices
from ladder.catalogue import workloads
from ladder.harness import worker
from ladder.harness.steps import Steps
from ladder.records.case import Case

HOST = devices.load("host")
CASE = Case("gemm", "blas", workloads.complete("gemm", {"m": 3, "n": 2, "k": 5}), {"threads": 1})
LIMITS = {"seconds": 0.1, "samples": 1, "least": 1, "most": 1, "target": 1.0, "phase_passes": 1, "energy": False}


@pytest.mark.parametrize(("order", "done"), [("compile", "run_once"), ('go {"LEASED": "3"}', "run_case"), ("", None)])
def test_a_worker_is_ready_and_then_does_what_it_is_told(monkeypatch, order, done):
    job = {"workload": CASE.workload, "variant": CASE.variant, "case": CASE.slug}
    lines, said, leased = iter([json.dumps(job), order]), io.StringIO(), {}
    for name in ("run_case", "run_once"):
        monkeypatch.setattr(worker, name, lambda *job, name=name: {"done": name})
    monkeypatch.setattr(HOST, "receive", lambda: next(lines))
    monkeypatch.setattr(HOST, "set_variables", leased.update)
    monkeypatch.setattr(sys, "argv", ["worker", "host"])
    monkeypatch.setattr(sys, "stdout", said)
    worker.main()
    ready, *answers = map(json.loads, said.getvalue().splitlines())
    assert ready == {"ready": True}
    assert answers == ([{"done": done, "compiled": 0}] if done else [])
    assert leased == ({"LEASED": "3"} if done == "run_case" else {})


def test_what_is_compiled_ahead_is_set_up_and_run_once_on_zeros():
    called = []

    def setup(problem, threads):
        def note(name):
            called.append((name, all(not array.any() for array in (problem.a, problem.b, problem.out))))

        return Steps([("product", lambda: note("product"))], prepare=[("pack", lambda: note("pack"))])

    assert worker.run_once(CASE, workloads.load("gemm"), SimpleNamespace(DEVICE="host", setup=setup)) == {}
    assert called == [("pack", True), ("product", True)]


def test_the_set_up_holds_what_prepares_but_not_the_inputs(monkeypatch):
    gemm, clock = workloads.load("gemm"), [0.0]
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)  # the tests' own process has any
    monkeypatch.setattr(HOST, "flusher", lambda: lambda: None)
    times = SimpleNamespace(perf_counter=lambda: clock[0], monotonic=time.monotonic)
    monkeypatch.setattr(worker, "time", times)

    def spend(seconds):
        clock[0] += seconds

    def fill(*given):
        spend(1000.0)
        return gemm.fill(*given)

    def setup(problem, threads):
        spend(10.0)
        product = partial(np.matmul, problem.a, problem.b, out=problem.out)
        return Steps([("product", product)], prepare=[("pack", lambda: spend(1.0))])

    late = SimpleNamespace(**{name: getattr(gemm, name) for name in dir(gemm)} | {"fill": fill})
    variant = SimpleNamespace(DEVICE="host", setup=setup)
    found = worker.run_case(CASE, late, variant, SimpleNamespace(data={}, reference=None, **LIMITS))
    assert found["setup"] == 11.0
    assert found["check"] >= 1000.0


@pytest.mark.parametrize(("cache", "flushes"), [("cold", 1), ("warm", 0)])
def test_caches_are_emptied_before_every_sample_of_a_cold_case_and_never_of_a_warm_one(monkeypatch, cache, flushes):
    case = replace(CASE, cache=cache)
    called = []
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)
    monkeypatch.setattr(HOST, "flusher", lambda: lambda: called.append("flush"))

    def setup(problem, threads):
        def run():
            called.append("run")
            np.matmul(problem.a, problem.b, out=problem.out)

        return run

    limits = LIMITS | {"samples": 3, "least": 3, "most": 3}
    job = SimpleNamespace(data={}, reference=None, **limits)
    worker.run_case(case, workloads.load("gemm"), SimpleNamespace(DEVICE="host", setup=setup), job)
    timed = ["flush"] * flushes + ["run"]
    checked, last = called.index("flush") if flushes else len(called) - 5, len(called) - 1
    assert called[checked:last] == timed * 4  # the first warms up
    assert "flush" not in called[:checked] + called[last:]
