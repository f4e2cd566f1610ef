"""Measuring a case: the record, and that every fault ends in an error without a record."""

import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import PROTOCOL, TESTS
from ladder import devices
from ladder.__main__ import main
from ladder.catalogue import sources, workloads
from ladder.catalogue.sources import fingerprint
from ladder.data import dataset
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import first_calls, measure, preconditions, worker, workers
from ladder.harness.plausibility import require_plausible
from ladder.harness.workers import Worker
from ladder.machine import processes
from ladder.planning import configuration
from ladder.records import files, record
from ladder.records.case import Case
from ladder.workloads.mlp import reference

SIZES = {"form": "nn", "m": 17, "n": 5, "k": 9}
VARIANT = """
import os, time
from pathlib import Path
import numpy as np
DEVICE = "host"
RUNTIME = "blas"

def setup(problem, *, threads: int):
    {setup}
    def run():
        np.matmul(problem.a, problem.b, out=problem.out)
        {run}
    return run
"""


@pytest.fixture(autouse=True, scope="module")
def forget_code():
    """Forget the sources at the end: all tests read them once, since each test's variant has its own name."""
    yield
    sources.clear_caches()


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """A working directory with its own variants and lock."""
    (tmp_path / "variants/gemm").mkdir(parents=True)
    shipped = TESTS / "variants"
    monkeypatch.setenv("LADDER_VARIANTS", f"{tmp_path / 'variants'}:{shipped}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def slow_parameters(*values):
    """Values for the parameters of a test, which is slow with them."""
    return pytest.param(*values, marks=pytest.mark.slow)


def write_variant(name, setup="pass", run="pass"):
    """Write a variant with these statements in `setup` and in `run`; returns its name."""
    Path(f"variants/gemm/{name}.py").write_text(VARIANT.format(setup=setup, run=run), encoding="utf-8")
    return name


# Warm by default, since flushing large caches takes seconds.
def case_of(variant="blas", cache="warm", threads=1):
    return Case("gemm", variant, workloads.complete("gemm", SIZES), {"threads": threads}, cache)


def measure_case(case, out="out/record.json", changes=None, **options):
    """Measure a case; returns its record, read back."""
    protocol = configuration.protocol(PROTOCOL | (changes or {}))
    measure.measure(case, out, protocol, "here", **options)
    return record.read(out)


def refusal_of(case, **options):
    """The error of a measurement that fails, and leaves no files."""
    with pytest.raises(LadderError) as error:
        measure_case(case, **options)
    assert not list(Path().glob("out/*"))
    return str(error.value)


def measure_command(case, out="out/record.json"):
    """The command line that measures a case."""
    return [
        *(sys.executable, "-m", "ladder", "measure", case.workload, case.variant, case.slug),
        *("--out", str(out), "--machine", "here", "--protocol", json.dumps(PROTOCOL)),
    ]


def wait_until(condition, seconds=30):
    """Wait until a function returns true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never became true"
        time.sleep(0.02)


# Records


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_record_describes_its_measurement(cache):
    case = case_of(cache=cache)
    document = measure_case(case)
    assert (document["workload"], document["variant"], document["case"], document["machine"]) == (
        "gemm",
        "blas",
        case.slug,
        "here",
    )
    assert document["sources"] == fingerprint(case)
    assert document["cost"]["flops"] == 2 * 17 * 5 * 9
    (process,) = document["processes"]
    assert 2 <= len(process["samples"]) <= 3
    assert process["phases"] == process["curve"] == []
    check_names = ["product", "product, random signs", "product, whole numbers"]
    assert [check["name"] for check in process["checks"]] == check_names
    assert process["checks"][0]["error"] <= 1
    assert {count for name, count in process["threads"]["runtimes"].items() if name.startswith("blas")} == {1}
    assert [path.name for path in Path("out").iterdir()] == ["record.json"]


@pytest.mark.parametrize(
    ("changes", "processes", "samples"),
    [
        # The time is over at once, so the number of samples is `least`.
        ({"samples": 9, "least": 5, "most": 12, "target": 1e-12, "cap": 1e-9}, 1, 5),
        # The target is out of reach, so the number of samples is `most`.
        slow_parameters({"samples": 2, "least": 2, "most": 7, "target": 1e-12, "cap": 60}, 1, 7),
        # Within a process, any median meets the target, so the number of samples is `samples`.
        slow_parameters({"samples": 8, "least": 2, "most": 50, "target": 1e9, "cap": 60}, 1, 8),
        # Up to `most_processes` run while the median hasn't converged and time is left, and otherwise `processes`.
        ({"processes": 2, "most_processes": 3, "target": 1e-12, "cap": 60, "most": 2}, 3, 2),
        slow_parameters({"processes": 2, "most_processes": 3, "target": 1e-12, "cap": 1e-9}, 2, 2),
    ],
)
def test_sampling_follows_the_protocol(changes, processes, samples):
    document = measure_case(case_of(), changes=changes)
    assert [len(process["samples"]) for process in document["processes"]] == [samples] * processes
    assert document["protocol"].items() >= changes.items()
    assert document["converged"] is False  # over processes: there is only one, or the target is out of reach


def test_processes_share_the_time_of_a_case(monkeypatch):
    monkeypatch.setattr(workers.subprocess, "Popen", lambda *_, **__: SimpleNamespace(stdin=io.StringIO()))
    protocol = configuration.protocol({"cap": 12, "processes": 3, "most_processes": 5})
    assert Worker(case_of(), protocol).job["seconds"] == 4


def worker_answer(system):
    """The answer of a worker; `system` is {"system": conditions} or, as in old records, empty."""
    times = {"samples": [1e-3] * 3, "setup": 0.1, "first": 0.1, "check": 0.1, "total": 1.0, "compiled": 0}
    threads = {"cpus": 2, "affinity": [0, 1], "runtimes": {}}
    checks = [{"name": "product", "error": 0.0, "bound": 1.0}]
    return times | {"phases": [], "checks": checks, "facts": {}, "curve": [], "threads": threads} | system


@pytest.fixture
def set_answers(monkeypatch):
    """A function that has simulated workers answer with these systems; returns the protocol's number of processes."""

    def answer(*systems):
        remaining = iter(systems)
        do_nothing = lambda *arguments: None  # noqa: E731
        worker = SimpleNamespace(
            wait_ready=do_nothing, stop=do_nothing, go=lambda variables: worker_answer(next(remaining))
        )
        monkeypatch.setattr(measure, "Worker", lambda *job: worker)
        return {"processes": len(systems), "most_processes": len(systems)}

    return answer


def test_a_record_has_the_conditions_of_every_process():
    conditions = measure_case(case_of())["processes"][0]["system"]
    assert any(fact.startswith("blas/") and fact.endswith("/architecture") for fact in conditions)
    assert {"numpy/vectors", "scheduler/nice", "limit/stack"} <= set(conditions)


@pytest.mark.parametrize(
    ("other_conditions", "difference"),
    [
        ({"blas/o.so/architecture": "Haswell", "smt": "1"}, r"blas/o.so/architecture \(Zen and Haswell\)"),
        ({"blas/o.so/architecture": "Zen", "smt": "0"}, r"smt \(1 and 0\)"),
        ({"blas/o.so/architecture": "Zen"}, r"smt \(1 and not known\)"),
        ({"blas/o.so/architecture": "Zen", "smt": "1", "quota": 1.5}, r"quota \(not known and 1.5\)"),
    ],
)
def test_processes_under_different_conditions_are_not_pooled(set_answers, other_conditions, difference):
    conditions = {"blas/o.so/architecture": "Zen", "smt": "1"}
    changes = set_answers({"system": conditions}, {"system": other_conditions})
    assert re.search(
        f"The processes of the case ran under different conditions.*: they differ in {difference}.",
        refusal_of(case_of(), changes=changes),
    )
    # The last one has no conditions, as in old records.
    changes = set_answers({"system": conditions}, {"system": conditions}, {})
    document = measure_case(case_of(), changes=changes)
    document["processes"][1]["system"] = other_conditions
    record.write("out/record.json", document)
    with pytest.raises(LadderError, match=f"its processes ran under different conditions, {difference}"):
        record.read("out/record.json")


def test_a_worker_of_a_numba_variant_has_its_threads_and_compiles_nothing():
    """Numba's threads can be read back once its first parallel region has run."""
    sizes = workloads.complete("stream", {"kernel": "copy", "elements": 1000})
    (process,) = measure_case(Case("stream", "openmp", sizes, {"threads": 2}, "warm"))["processes"]
    assert process["threads"]["runtimes"]["numba-omp"] == 2
    assert process["compiled"] == 0


@pytest.mark.slow
def test_a_training_has_phases_and_a_curve():
    sizes = {"layers": "784-7-10", "images": 65, "batch": 30, "epochs": 2, "rate": 0.5, "source": "digits"}
    case = Case("mlp", "host", workloads.complete("mlp", sizes), {"product": "blas", "threads": 1}, "warm")
    write_digits("digits")
    reference_sizes = workloads.load("mlp").reference_sizes(case.sizes)
    arrays = reference.compute(reference_sizes, dataset.load("digits"))
    preconditions.write_reference("reference.npz", "mlp", reference_sizes, arrays)
    paths = {"data": {"digits": "digits"}, "reference": "reference.npz"}
    assert "is checked against a reference" in refusal_of(case, data=paths["data"])
    document = measure_case(case, changes={"phase_passes": 2, "processes": 2, "most_processes": 2}, **paths)
    process, second = document["processes"]
    assert len(process["phases"]) == 2
    names = {"gather", "forward 1", "forward 2", "activation", "loss", "gradient 1", "gradient 2", "delta 1"}
    assert set(process["phases"][0]) == names | {"bias", "update"}
    assert [point["epoch"] for point in process["curve"]] == [1, 2]
    assert (second["curve"], len(second["checks"])) == ([], len(process["checks"]))
    assert {check["name"] for check in process["checks"]} == {"w1", "b1", "w2", "b2", "loss", "epoch loss"}


# Refusals


def test_fewer_cores_than_threads_are_refused():
    refusal = refusal_of(case_of(threads=2), granted_cores=1)
    assert refusal.startswith("The case asks for 2 threads, but Snakemake grants 1 core:")
    assert measure_case(case_of(threads=1), granted_cores=1)
    assert measure_case(case_of(threads=1), "out/other.json", granted_cores=3)


def test_another_number_of_threads_than_the_cases_is_refused():
    name = write_variant("more_threads", setup="import threadpoolctl; threadpoolctl.threadpool_limits(2)")
    assert "runs 2 threads instead of the case's 1" in refusal_of(case_of(name))
    name = write_variant("bound", setup="os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})")
    refusal = refusal_of(case_of(name, threads=2))
    assert "asks for 2 threads, but the process may only use 1 CPU:" in refusal


@pytest.mark.parametrize(
    ("variant", "sentence"),
    [
        ("wrong_killed", "The measuring process was killed by signal 9 (out of memory?) before it had a result"),
        ("wrong_crash", "The variant stopped with ValueError: no such matrix"),
        ("wrong_nothing", "elements of the result 'out' are NaN"),
        ("wrong_unwritten", "elements of the result 'out' are NaN"),
        ("wrong_one_element", "The result is wrong (round 1): the error of 'product' is "),
        ("wrong_precision", "The result is wrong (round 1): the error of 'product' is "),
        ("wrong_first_run", "The result is wrong (round 1): the error of 'product' is "),
        ("wrong_last_run", "The result is wrong (round 2): 'product, whole numbers' isn't exact although it must be"),
        ("wrong_impossible", "elements of the result 'out' are NaN"),  # in the check after the samples
        ("wrong_skipped", "elements of the result 'out' are NaN"),  # likewise
    ],
)
def test_a_failing_variant_ends_in_an_error(variant, sentence):
    assert sentence in refusal_of(case_of(variant))


def test_a_traceback_is_only_in_the_log_and_begins_in_the_variant(capfd):
    name = write_variant("broken", run="problem.entry")
    refusal = refusal_of(case_of(name))
    log = Path("results/logs/workers/gemm/broken.log")
    # Line 12 of VARIANT is the statement in `run`.
    assert f"(line 12 of {Path('variants/gemm/broken.py').absolute()}). The traceback is in {log}." in refusal
    assert capfd.readouterr().err == ""
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "broken.py" in lines[1]
    assert lines[-1].startswith("AttributeError")


def test_a_misspelt_attribute_of_the_problem_is_answered_with_the_similar_one():
    refusal = refusal_of(case_of(write_variant("misspelt", setup="problem.otu[...] = 0")))
    assert "AttributeError: `problem` has no attribute 'otu'. Did you mean 'out'? (line " in refusal
    refusal = refusal_of(case_of(write_variant("unknown", setup="problem.entry")))
    assert "AttributeError: `problem` has no attribute 'entry' (line " in refusal


def test_in_a_job_of_a_run_a_traceback_is_in_its_log(monkeypatch, capfd):
    monkeypatch.setattr(processes, "job_variables", {processes.PARENT_VARIABLE: "1"})
    assert "log" not in refusal_of(case_of(write_variant("broken_in_job", run="problem.entry")))
    assert capfd.readouterr().err.startswith("Traceback (most recent call last):")
    assert not Path("results/logs").exists()


def test_a_signal_is_blamed_on_the_line_that_ran():
    name = write_variant("outside", run="import ctypes; ctypes.string_at(0)")
    refusal = refusal_of(case_of(name))
    path = Path("variants/gemm/outside.py").absolute()
    assert refusal.startswith("The measuring process was killed by signal 11 (access outside of an array?) before it")
    assert f"It was in line 12 of {path}. The traceback is in results/logs/workers/gemm/outside.log." in refusal
    assert "NUMBA_BOUNDSCHECK" not in refusal
    assert "Segmentation fault" in Path("results/logs/workers/gemm/outside.log").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_advice_on_indices_of_numba_finds_the_index():
    numba_variant = (
        VARIANT.replace('"blas"', '"numba"')
        + """
import numba

@numba.njit(cache=True)
def write(out, i):
    out[i, 0] = 1.0
"""
    )
    statement = "write(problem.out, 2**40)"
    path = Path("variants/gemm/no_index.py")
    path.write_text(numba_variant.format(setup="pass", run=statement), encoding="utf-8")
    assert "ENVIRONMENT = {'NUMBA_BOUNDSCHECK': '1'}" in refusal_of(case_of("no_index"))
    path = path.with_name("bounded.py")
    path.write_text(
        "ENVIRONMENT = {'NUMBA_BOUNDSCHECK': '1'}\n" + numba_variant.format(setup="pass", run=statement),
        encoding="utf-8",
    )
    assert "The variant stopped with IndexError: index is out of bounds" in refusal_of(case_of("bounded"))


@pytest.mark.parametrize("function", ["setup", pytest.param("run", marks=pytest.mark.slow)])
def test_a_long_first_call_is_named_once(monkeypatch, capsys, function):
    monkeypatch.setattr(first_calls, "PATIENCE", 0.2)
    monkeypatch.setattr(first_calls, "reported_cases", set())
    name = write_variant(f"slow_{function}", **{function: "time.sleep(0.3)"})
    measure_case(case_of(name), changes={"processes": 2, "most_processes": 2})
    sentence = f"gemm/{name} is still in its set-up or first call after 0.2 s: it compiles, computes or hangs."
    assert capsys.readouterr().err.count(sentence) == 1


@pytest.mark.slow
def test_a_short_first_call_is_not_named_although_sampling_lasts(monkeypatch, capsys):
    monkeypatch.setattr(first_calls, "PATIENCE", 2.0)
    measure_case(
        case_of(write_variant("many_calls", run="time.sleep(0.3)")), changes={"samples": 9, "least": 9, "most": 9}
    )
    assert "still in" not in capsys.readouterr().err


def test_ctrl_c_keeps_the_results_so_far(monkeypatch, capsys):
    monkeypatch.setattr(measure, "results_of", lambda *arguments: interrupt([1.0, 2.0]))
    with pytest.raises(SystemExit) as ended:
        main(measure_command(case_of())[3:])
    assert ended.value.code == 130
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["1 process", "2 processes"]
    sentence = "Interrupted, so no record was written. The results of 2 processes are in out/record.interrupted.json."
    assert lines[2] == f"ladder measure: {sentence}"
    document = json.loads(Path("out/record.interrupted.json").read_text(encoding="utf-8"))
    assert [process["samples"] for process in document["processes"]] == [[1.0], [2.0]]
    assert not Path("out/record.json").exists()


def test_ctrl_c_leaves_nothing_in_a_workflow(monkeypatch, capsys):
    monkeypatch.setattr(measure, "results_of", lambda *arguments: interrupt([1.0]))
    monkeypatch.setitem(processes.job_variables, processes.PARENT_VARIABLE, "1")
    with pytest.raises(SystemExit):
        main(measure_command(case_of())[3:])
    assert capsys.readouterr().err == "ladder measure: Interrupted.\n"
    assert not Path("out").exists()


def interrupt(seconds):
    """Results of processes with one sample each, and then Ctrl-C."""
    yield from ({"samples": [value]} for value in seconds)
    raise KeyboardInterrupt


def test_a_wrong_result_is_located():
    """The variant adds 1 to the last element."""
    name = write_variant("located", run="np.matmul(problem.a, problem.b, out=problem.out); problem.out[-1, -1] += 1")
    refusal = refusal_of(case_of(name))
    m, n = (workloads.complete("gemm", SIZES)[size] for size in "mn")
    assert f"Element [{m - 1}, {n - 1}] is " in refusal
    assert f"1 of the {m * n} compared elements is wrong, in 1 of {m} rows ({m - 1}) and 1 of {n} columns" in refusal
    assert "kept a copy" not in refusal


def test_a_copy_of_the_inputs_is_named_as_a_cause():
    statement = "problem.kept = problem.a.copy(), problem.b.copy()"
    name = write_variant("kept", setup=statement, run="np.matmul(*problem.kept, out=problem.out)")
    assert "(round 2)" in (refusal := refusal_of(case_of(name)))
    assert refusal.endswith("or in a `prepare` step: see `Steps` in docs/contracts.md.")
    assert "`setup` may have kept a copy of its inputs" in refusal


def test_a_phase_named_total_is_refused():
    with pytest.raises(LadderError, match="is called `total`"):
        measure.require_phases([{"phases": [{"sum": 1.0}]}, {"phases": [{"sum": 1.0, "total": 2.0}]}])


def test_a_variant_may_end_its_process_or_print():
    assert "ended with status 3 before it had a result" in refusal_of(case_of(write_variant("ends", run="os._exit(3)")))
    assert measure_case(case_of(write_variant("prints", setup="print('{}')", run="print('ready')")))


@pytest.mark.parametrize(("error_name", "is_fault_of_variant"), [("ENOSPC", False), ("ENOENT", True)])
def test_a_full_disk_is_no_fault_of_the_variant(error_name, is_fault_of_variant):
    statement = f"import errno; raise OSError(errno.{error_name}, os.strerror(errno.{error_name}))"
    refusal = refusal_of(case_of(write_variant(error_name.lower(), setup=statement)))
    assert refusal.startswith("The variant stopped with" if is_fault_of_variant else "A file can't be written: ")


def ceilings(flops=None, bandwidth=0.0, cache=0, margin=1.25):
    """Ceilings of a machine: FLOP/s by precision, bytes per second of memory, and the bytes of its caches.

    With the margin of 1.25, a sample may be as short as 1 / 1.25 = 0.8 of the time at the rate of a ceiling.
    """
    return {"flops": flops or {}, "bandwidth": bandwidth, "cache_bytes": cache, "margin": margin, "rows": []}


def test_impossible_samples_are_refused():
    assert "is impossible: by the ceilings" in refusal_of(case_of(), ceilings=ceilings(flops={"float64": 1.0}))


@pytest.mark.parametrize(
    ("seconds", "cache", "limits", "impossible"),  # of 100 FLOPs and 50 bytes, which take 1 s at the ceilings
    [
        (1.0, "cold", ceilings({"float64": 100.0}), None),
        (0.81, "cold", ceilings({"float64": 100.0}), None),
        (0.79, "cold", ceilings({"float64": 100.0}), "arithmetic"),
        (0.79, "cold", ceilings({"float32": 100.0}), None),
        (0.79, "cold", ceilings(bandwidth=50.0), "memory traffic"),
        (0.79, "cold", ceilings(bandwidth=50.0, cache=20), None),
        (0.79, "warm", ceilings(bandwidth=50.0), None),
        (0.79, "cold", ceilings(), None),
    ],
)
def test_samples_are_compared_with_ceilings(seconds, cache, limits, impossible):
    cost = SimpleNamespace(flops=100, bytes=50, precision="float64")
    results = [{"samples": [9.0, 9.0]}, {"samples": [9.0, seconds]}]
    case = Case.parse("gemm", "blas", case_of(cache=cache).slug)  # parsed, as in a job
    if not impossible:
        require_plausible(case, results, cost, limits)
    else:
        with pytest.raises(LadderError, match=f"the {impossible} alone takes"):
            require_plausible(case, results, cost, limits)


@pytest.mark.parametrize("ceiling", [{"flops": {"float32": 100.0}}, {"bandwidth": 100.0}])
@pytest.mark.parametrize(
    ("workload", "variant", "tuning", "floors"),
    [
        ("dcgan", "home", {"gpus": 2}, (0.5, 0.5)),
        ("dcgan", "mpi_home", {"ranks": 2}, (0.5, 0.5)),
        ("gemv", "mpi", {"ranks": 2}, (0.5, 0.5)),
        ("gemv", "openmp", {"threads": 2}, (0.5, 1)),
        ("dcgan", "cuda", {}, (1, 1)),
    ],
)
def test_ceilings_scale_with_gpus_ranks_and_threads(workload, variant, tuning, floors, ceiling):
    """`floors` are the minimum seconds by FLOPs and by bytes: one GPU needs 1 s for all; threads share a memory."""
    case, seconds = Case(workload, variant, {}, tuning, "cold"), floors["bandwidth" in ceiling]
    cost = SimpleNamespace(flops=100, bytes=100, precision="float32")
    limits = ceilings(**ceiling) | {"cuda": ceilings(**ceiling)}
    require_plausible(case, [{"samples": [0.81 * seconds]}], cost, limits)
    with pytest.raises(LadderError, match=f"alone takes {seconds} s"):
        require_plausible(case, [{"samples": [0.79 * seconds]}], cost, limits)


@pytest.mark.parametrize(
    ("sizes", "tuning", "sentence"),
    [
        ({"m": 1, "n": 1, "k": 1}, {"threads": 1}, "isn't written in full: 'form=nn,m=1,"),
        ({"m": 1, "n": 1}, {"threads": 1}, "gemm needs a value for its size 'k'"),
        (SIZES | {"depth": 1}, {"threads": 1}, "gemm has no size named depth"),
        (None, {}, "gemm/blas needs a value for its tuning 'threads'"),
        (None, {"threads": 1, "blocks": 3}, "gemm/blas has no tuning named blocks"),
    ],
)
def test_a_malformed_case_is_refused(sizes, tuning, sentence):
    complete_sizes = workloads.complete("gemm", SIZES)
    assert sentence in refusal_of(Case("gemm", "blas", sizes or complete_sizes, tuning))


def test_a_worker_that_dies_while_it_waits_is_an_error():
    worker = Worker(case_of(), configuration.protocol(PROTOCOL))
    worker.wait_ready()
    worker.process.kill()
    worker.process.wait()
    with pytest.raises(LadderError, match="was killed by signal 9"):
        worker.go()
    worker.stop()


@pytest.mark.parametrize("starts_together", [True, False])
def test_workers_start_together_if_the_device_allows_it(monkeypatch, starts_together):
    events = []

    def create(*job):
        events.append(SimpleNamespace(wait_ready=lambda: None, stop=lambda: events.append("stopped")))
        return events[-1]

    monkeypatch.setattr(measure, "Worker", create)
    monkeypatch.setattr(
        devices.load("host"), "can_start_together", lambda case, launcher, count: starts_together and count == 3
    )
    with measure.start_workers(case_of(), {"processes": 3, "most_processes": 3}, None, None, None) as workers:
        assert len(workers) == (3 if starts_together else 1)
    assert events[len(workers) :] == ["stopped"] * len(workers)


# Optional parts of a variant

PREPARED_PRODUCT = """
import os
import numpy as np
from ladder.harness.steps import Steps
DEVICE = "host"
RUNTIME = "blas"
ENVIRONMENT = {{"LADDER_BINDING": "binding is {{binding}}"}}

def first_touch(problem):
    assert set(problem.inputs) == {{"a", "b"}}
    problem.a[...] = 7.0

def setup(problem, *, binding: str, threads: int):
    assert os.environ["LADDER_BINDING"] == "binding is close"
    transposed = np.zeros(problem.a.shape[::-1])
    def transpose():
        {transpose}
    product = "product", lambda: np.matmul(transposed.T, problem.b, out=problem.out)
    return Steps(prepare=[("transpose", transpose)], run=[product], trace=lambda: [("lane", "1", 0.25, 0.5)])
"""


def preparing_case(name, transpose):
    """The case of a variant that prepares its run with this statement."""
    Path(f"variants/gemm/{name}.py").write_text(PREPARED_PRODUCT.format(transpose=transpose), encoding="utf-8")
    return Case("gemm", name, workloads.complete("gemm", SIZES), {"binding": "close", "threads": 1}, "warm")


def test_preparation_follows_the_inputs_and_is_a_phase():
    """The record keeps the trace of the first process only."""
    two_processes = {"processes": 2, "most_processes": 2}
    first, second = measure_case(
        preparing_case("prepared", "transposed[...] = problem.a.T"), "prepared.json", two_processes
    )["processes"]
    assert all(set(phases) == {"transpose", "product"} for phases in first["phases"])
    assert first["trace"] == [["lane", "1", 0.25, 0.5]]
    assert "trace" not in second


@pytest.mark.parametrize(("cache", "expected"), [("cold", ["flush"]), ("warm", [])])
def test_every_part_of_a_pass_starts_with_the_caches_of_a_timed_call(cache, expected):
    calls = []
    device = SimpleNamespace(stopwatch=lambda step: step() or 1.0, seconds_by_rank=lambda: [])
    prepare, product, back = (
        [(name, lambda name=name: calls.append(name))] for name in ("transpose", "product", "back")
    )
    flush = (lambda: calls.append("flush")) if cache == "cold" else lambda: None
    job = SimpleNamespace(phase_passes=2)
    times = worker.time_phases(device, [prepare, product, back], lambda: calls.append("reset"), flush, job)
    assert calls == ["reset", *expected, "transpose", *expected, "product", *expected, "back"] * 2
    assert times == {"phases": [{"transpose": 1.0, "product": 1.0, "back": 1.0}] * 2}


def test_of_two_errors_in_one_line_the_first_counts():
    assert workers.parse_answer('{"error": "one"}{"error": "two"}\n\n') == {"error": "one"}
    for line in ("prterun noticed that process rank 0 ended\n", '{"error": "cut o', "7\n", "\n"):
        assert workers.parse_answer(line) is None


def test_a_preparation_that_ignores_new_inputs_is_detected():
    case = preparing_case("prepared_once", "if not transposed.any(): transposed[...] = problem.a.T")
    assert "round 2" in refusal_of(case)


# Writing and reading


@pytest.fixture(scope="module")
def record_text(tmp_path_factory):
    """The text of a record, measured once."""
    folder = tmp_path_factory.mktemp("record")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        measure_case(case_of(), "valid.json")
    return (folder / "valid.json").read_text()


@pytest.fixture
def valid_record(working_folder, record_text):
    """A record in the working directory."""
    Path("valid.json").write_text(record_text, encoding="utf-8")
    return record.read("valid.json")


def test_an_unwritable_path_is_an_error(valid_record):
    Path("file").touch()
    for out in ("file/record.json", "/proc/nowhere/record.json", "x" * 300 + ".json"):
        with pytest.raises(LadderError, match=r"can't be written: .*\. Make room or allow writing"):
            record.write(out, valid_record)


def test_a_full_disk_is_an_error_and_leaves_the_old_record(valid_record):
    disk = Path("disk")
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("requires the right to mount a small disk (root)")
    try:
        (disk / "record.json").write_text("old")
        with pytest.raises(LadderError, match="can't be written: No space left on device"):
            files.write_atomically(disk / "record.json", "new" * 10_000)
        assert [(path.name, path.read_text()) for path in disk.iterdir()] == [("record.json", "old")]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_killed_write_leaves_the_old_record_and_the_next_succeeds(valid_record):
    script = (
        "import json, os, signal\n"
        "from ladder.records import files\n"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomically('valid.json', 'new')"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    assert record.read("valid.json") == valid_record
    assert Path(".valid.json.part").exists()
    record.write("valid.json", valid_record | {"machine": "there"})
    assert record.read("valid.json")["machine"] == "there"
    assert not Path(".valid.json.part").exists()


def test_broken_and_foreign_files_are_refused(valid_record):
    contents = Path("valid.json").read_bytes()
    broken = b"", contents[: len(contents) // 2], contents + b"}", b"\xff\xfe", b"\0" * 100
    for number, data in enumerate(broken):
        Path(f"{number}.json").write_bytes(data)
        with pytest.raises(LadderError, match=r"is not JSON .* Delete it"):
            record.read(f"{number}.json")
    with pytest.raises(LadderError, match="can't be read: No such file"):
        record.read("missing.json")
    for text in ("[]", "3", "{}"):
        Path("foreign.json").write_text(text, encoding="utf-8")
        with pytest.raises(LadderError, match=r"foreign\.json (is|must be)"):
            record.read("foreign.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("cost"),
        lambda record: record.update(colour="red"),
        lambda record: record.update(schema=2),
        lambda record: record.update(processes=[]),
        lambda record: record["processes"][0].update(samples=[]),
        lambda record: record["processes"][0].update(samples=[0.0]),
        lambda record: record["processes"][0].update(samples=["1"]),
        lambda record: record["processes"][0].update(checks=[]),
        lambda record: record["processes"][0].pop("threads"),
        lambda record: record["processes"][0].update(trace=[["lane", "1", 0.5]]),
        lambda record: record["processes"][0].update(trace=[["lane", 1, 0.25, 0.5]]),
        lambda record: record["processes"][0].update(trace=[["lane", "1", 0.25, 0.5]] * 401),  # 400 is the maximum
        lambda record: record["processes"][0].update(samples=[math.nan]),
        lambda record: record["processes"][0]["checks"][0].update(error=math.inf),
        lambda record: record["processes"][0]["threads"].update(ranks=[{}]),
        lambda record: record.update(wall=10**400),  # too large for a float
    ],
)
def test_a_record_that_does_not_fit_the_schema_is_neither_written_nor_read(valid_record, change):
    change(valid_record)
    with pytest.raises(LadderError, match="is not a sound record") as written:
        record.write("other.json", valid_record)
    assert not Path("other.json").exists()
    Path("other.json").write_text(json.dumps(valid_record | {"digest": record.digest(valid_record)}), encoding="utf-8")
    with pytest.raises(LadderError) as read:
        record.read("other.json")
    assert str(read.value) == str(written.value)  # not for any other fault


def test_a_record_whose_bytes_have_changed_is_refused(valid_record):
    record.write("mine.json", valid_record)
    path, wall_text = Path("mine.json"), repr(valid_record["wall"])
    record_text = path.read_text(encoding="utf-8")
    assert record.read(path)["wall"] == valid_record["wall"]
    path.write_text(record_text.replace(wall_text, repr(valid_record["wall"] * 2)), encoding="utf-8")
    with pytest.raises(LadderError, match="it doesn't match its digest"):
        record.read(path)
    without_digest = {name: value for name, value in json.loads(record_text).items() if name != "digest"}
    path.write_text(json.dumps(without_digest), encoding="utf-8")
    with pytest.raises(LadderError, match="it doesn't match its digest"):
        record.read(path)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"checks": [{"name": "x", "error": 1e9, "bound": 1.0}]}, r"processes/0: the error of 'x' is 1e\+09 where"),
        ({"phases": [{"a": 1.0}], "by_rank": []}, "processes/0: the phases of its ranks are not those of the process"),
        (
            {"phases": [{"a": 1.0}], "by_rank": [{"b": [1.0]}]},
            "processes/0: the phases of its ranks are not those of the process",
        ),
    ],
)
def test_a_record_of_wrong_results_is_not_read(valid_record, change, wrong):
    valid_record["processes"][-1] |= change
    record.write("other.json", valid_record)
    with pytest.raises(LadderError, match=f"^other.json is not a sound record: {wrong}.*Delete it and measure again"):
        record.read("other.json")


def test_a_record_without_a_description_of_its_machine_is_refused(valid_record):
    record.write("other.json", valid_record | {"description": {}})
    with pytest.raises(LadderError, match=r"^other.json is not a sound record: description: .*'system' is a required"):
        record.read("other.json")


@pytest.mark.parametrize("name", ["machine", "workload", "variant", "case"])
def test_a_record_below_results_must_match_its_path(valid_record, name):
    path = Path(record.path_of(valid_record["machine"], case_of().key))
    record.write(path, valid_record)
    assert record.read(path) == record.read(path.absolute()) == valid_record
    for other in ("0", "other"):  # in the order of names, before and after the right one
        record.write(path, valid_record | {name: other})
        with pytest.raises(LadderError, match=rf"^{re.escape(str(path))} is not a sound record: it belongs at "):
            record.read(path)


# Processes


def is_alive(pid):
    """Whether a process exists and isn't a zombie (state Z)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_run_takes_its_measurement_with_it():
    """The killed process is the parent of the command, as Snakemake is."""
    write_pids = "Path('pids').write_text(f'{os.getppid()} {os.getpid()}\\n'); time.sleep(600)"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, subprocess, sys; "
            "subprocess.run(sys.argv[1:], env=os.environ | {'LADDER_PARENT': str(os.getpid())})",
            *measure_command(case_of(write_variant("writes_pids", run=write_pids))),
        ]
    )
    try:
        wait_until(lambda: Path("pids").exists() and Path("pids").read_text(encoding="utf-8").endswith("\n"))
        pids = [int(pid) for pid in Path("pids").read_text(encoding="utf-8").split()]
        assert all(map(is_alive, pids))
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not any(map(is_alive, pids)))
    assert not Path("out").exists()


def test_two_measurements_take_turns(working_folder):
    write_time = "Path(os.environ['LADDER_TIMES']).open('a').write(f'{time.monotonic_ns()}\\n'); time.sleep(0.05)"
    case = case_of(write_variant("writes_times", run=write_time))
    runs = {
        name: subprocess.Popen(
            measure_command(case, f"out/{name}.json"), env=os.environ | {"LADDER_TIMES": str(working_folder / name)}
        )
        for name in ("first", "second")
    }
    wait_until(lambda: any((working_folder / name).exists() for name in runs))
    assert all(run.poll() is None for run in runs.values()), "both measured at the same time"
    assert [run.wait(60) for run in runs.values()] == [0, 0]
    first, second = sorted([int(line) for line in (working_folder / name).read_text().split()] for name in runs)
    assert len(first) == len(second) >= 6  # the first call, a warm-up, two samples, and two checks
    assert first[-1] < second[0]


def test_the_schema_of_records_lists_all_devices():
    assert json.loads(record.SCHEMA_FILE.read_text())["properties"]["device"]["enum"] == list(devices.CLASSES)
