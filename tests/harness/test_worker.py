"""A worker: its orders, and the times and flushes of a case on a simulated clock."""

import io
import json
import os
import sys
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import JOB_PROTOCOL, ROOT
from ladder import devices
from ladder.catalogue import workloads
from ladder.harness import worker
from ladder.harness.steps import Steps
from ladder.records.case import Case

HOST = devices.load("host")
CASE = Case("gemm", "blas", workloads.complete("gemm", {"m": 3, "n": 2, "k": 5}), {"threads": 1})


@pytest.mark.parametrize(
    ("order", "function"), [("compile", "run_once"), ('go {"LEASED": "3"}', "run_case"), ("", None)]
)
def test_a_worker_is_ready_and_then_executes_an_order(monkeypatch, order, function):
    job = {"workload": CASE.workload, "variant": CASE.variant, "case": CASE.slug, "fault_report": os.devnull}
    lines, output, leased_variables = iter([json.dumps(job), order]), io.StringIO(), {}
    for name in ("run_case", "run_once"):
        monkeypatch.setattr(worker, name, lambda *job, name=name: {"function": name})
    monkeypatch.setattr(HOST, "receive", lambda: next(lines))
    monkeypatch.setattr(HOST, "set_variables", leased_variables.update)
    monkeypatch.setattr(sys, "argv", ["worker", "host"])
    monkeypatch.setattr(sys, "stdout", output)
    worker.main()
    ready, *answers = map(json.loads, output.getvalue().splitlines())
    assert ready == {"ready": True}
    assert answers == ([{"function": function, "compiled": 0}] if function else [])
    assert leased_variables == ({"LEASED": "3"} if function == "run_case" else {})


def test_a_variant_compiled_ahead_is_set_up_and_run_once_on_zeros():
    calls = []

    def setup(problem, threads):
        def record(name):
            calls.append((name, all(not array.any() for array in (problem.a, problem.b, problem.out))))

        return Steps([("product", lambda: record("product"))], prepare=[("pack", lambda: record("pack"))])

    assert worker.run_once(CASE, workloads.load("gemm"), SimpleNamespace(DEVICE="host", setup=setup)) == {}
    assert calls == [("pack", True), ("product", True)]


def test_the_time_of_the_set_up_includes_preparation_but_not_the_inputs(monkeypatch):
    gemm, clock = workloads.load("gemm"), [0.0]
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)  # this process may have any number of threads
    monkeypatch.setattr(HOST, "flusher", lambda: lambda: None)
    times = SimpleNamespace(perf_counter=lambda: clock[0], monotonic=time.monotonic)
    monkeypatch.setattr(worker, "time", times)

    def spend(seconds):
        clock[0] += seconds

    def fill(*arguments):
        spend(1000.0)
        return gemm.fill(*arguments)

    def setup(problem, threads):
        spend(10.0)
        product = partial(np.matmul, problem.a, problem.b, out=problem.out)
        return Steps([("product", product)], prepare=[("pack", lambda: spend(1.0))])

    slow_workload = SimpleNamespace(**{name: getattr(gemm, name) for name in dir(gemm)} | {"fill": fill})
    variant = SimpleNamespace(DEVICE="host", setup=setup)
    result = worker.run_case(CASE, slow_workload, variant, SimpleNamespace(data={}, reference=None, **JOB_PROTOCOL))
    assert result["setup"] == 11.0
    assert result["check"] >= 1000.0  # the second round fills the inputs again


def test_a_workload_with_state_starts_from_its_inputs_although_the_set_up_has_changed_them(monkeypatch):
    """A set-up that captures a training as a CUDA graph changes them."""
    gemm = workloads.load("gemm")
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)  # this process may have any number of threads

    started = []

    def setup(problem, threads):
        problem.a[...] = 0

        def run():
            started.append(bool(problem.a.any()))
            np.matmul(problem.a, problem.b, out=problem.out)

        return run

    stateful_workload = SimpleNamespace(**{name: getattr(gemm, name) for name in dir(gemm)} | {"STATEFUL": True})
    job = SimpleNamespace(data={}, reference=None, **JOB_PROTOCOL)
    worker.run_case(CASE, stateful_workload, SimpleNamespace(DEVICE="host", setup=setup), job)
    assert all(started)


@pytest.mark.parametrize(("cache", "flushes"), [("cold", 1), ("warm", 0)])
def test_only_cold_cases_flush_caches_before_every_sample(monkeypatch, cache, flushes):
    case = replace(CASE, cache=cache)
    calls = []
    monkeypatch.setattr(HOST, "require_threads", lambda *arguments: None)
    monkeypatch.setattr(HOST, "flusher", lambda: lambda: calls.append("flush"))

    def setup(problem, threads):
        def run():
            calls.append("run")
            np.matmul(problem.a, problem.b, out=problem.out)

        return run

    protocol = JOB_PROTOCOL | {"samples": 3, "least": 3, "most": 3}
    job = SimpleNamespace(data={}, reference=None, **protocol)
    worker.run_case(case, workloads.load("gemm"), SimpleNamespace(DEVICE="host", setup=setup), job)
    timed_call = ["flush"] * flushes + ["run"]
    # The first call, a warm-up and three samples, and two calls whose results are checked.
    assert calls == ["run", *timed_call * 4, "run", "run"]


def test_the_example_of_steps_in_the_contracts_prepares_a_transposed_copy():
    example = (ROOT / "docs/contracts.md").read_text().split("```python\n")[1].split("```")[0]
    names = {"np": np}
    exec(example, names)
    problem = SimpleNamespace(a=np.ones((3, 4)), b=np.ones((3, 5)), out=np.empty((4, 5)))
    steps = names["setup"](problem)
    problem.a[...] = 2  # a later round
    for _, step in [*steps.prepare, *steps.run]:
        step()
    assert (problem.out == 6).all()
