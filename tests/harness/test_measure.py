"""The harness: the record of a measurement, and that any fault leaves a sentence and no record."""

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
from ladder.catalogue import sources, workloads
from ladder.catalogue.sources import fingerprint
from ladder.data import dataset
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import measure, preconditions, worker, workers
from ladder.harness.plausibility import require_plausible
from ladder.harness.workers import Worker
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
def walked_once():
    """The code is read once: each variant that a test writes has another name."""
    yield
    sources.forget()


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    """A working folder with variants and a lock of its own."""
    (tmp_path / "variants/gemm").mkdir(parents=True)
    shipped = TESTS / "variants"
    monkeypatch.setenv("LADDER_VARIANTS", f"{tmp_path / 'variants'}:{shipped}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def slow(*values):
    """Values of a test that is left to the slow ones."""
    return pytest.param(*values, marks=pytest.mark.slow)


def written(name, setup="pass", run="pass"):
    """A variant made for a test; its name."""
    Path(f"variants/gemm/{name}.py").write_text(VARIANT.format(setup=setup, run=run), encoding="utf-8")
    return name


# Caches may be large, and to empty them takes seconds: tests do so where they ask for it.
def case_of(variant="blas", cache="warm", threads=1):
    return Case("gemm", variant, workloads.complete("gemm", SIZES), {"threads": threads}, cache)


def measured(case, out="out/record.json", changes=None, **options):
    """Measure and read the record back."""
    protocol = configuration.protocol(PROTOCOL | (changes or {}))
    measure.measure(case, out, protocol, "here", **options)
    return record.read(out)


def refused(case, **options):
    """The sentence of a measurement that fails; it leaves no files."""
    with pytest.raises(LadderError) as error:
        measured(case, **options)
    assert not list(Path().glob("out/*"))
    return str(error.value)


def command(case, out="out/record.json"):
    return [
        *(sys.executable, "-m", "ladder", "measure", case.workload, case.variant, case.slug),
        *("--out", str(out), "--machine", "here", "--protocol", json.dumps(PROTOCOL)),
    ]


def until(condition, seconds=30):
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


# Records


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_record_says_what_was_measured(cache):
    case = case_of(cache=cache)
    found = measured(case)
    assert (found["workload"], found["variant"], found["case"], found["machine"]) == ("gemm", "blas", case.slug, "here")
    assert found["sources"] == fingerprint(case)
    assert found["cost"]["flops"] == 2 * 17 * 5 * 9
    (process,) = found["processes"]
    assert 2 <= len(process["samples"]) <= 3
    assert process["phases"] == process["curve"] == []
    kinds = ["product", "product, random signs", "product, whole numbers"]
    assert [check["name"] for check in process["checks"]] == kinds
    assert process["checks"][0]["error"] <= 1
    assert {count for name, count in process["threads"]["runtimes"].items() if name.startswith("blas")} == {1}
    assert [path.name for path in Path("out").iterdir()] == ["record.json"]


@pytest.mark.parametrize(
    ("changes", "processes", "samples"),
    [
        # The time is up at once: no more than the least.
        ({"samples": 9, "least": 5, "most": 12, "target": 1e-12, "cap": 1e-9}, 1, 5),
        # The target is out of reach: no more than the most.
        slow({"samples": 2, "least": 2, "most": 7, "target": 1e-12, "cap": 60}, 1, 7),
        # Any median will do: no more than the samples that are always taken.
        slow({"samples": 8, "least": 2, "most": 50, "target": 1e9, "cap": 60}, 1, 8),
        # Processes: as many as are asked for, and more while the median isn't known and time is left.
        ({"processes": 2, "most_processes": 3, "target": 1e-12, "cap": 60, "most": 2}, 3, 2),
        slow({"processes": 2, "most_processes": 3, "target": 1e-12, "cap": 1e-9}, 2, 2),
    ],
)
def test_sampling_follows_the_protocol(changes, processes, samples):
    found = measured(case_of(), changes=changes)
    assert [len(process["samples"]) for process in found["processes"]] == [samples] * processes
    assert found["protocol"].items() >= changes.items()
    assert found["converged"] is False


def test_processes_share_the_time_of_a_case(monkeypatch):
    monkeypatch.setattr(workers.subprocess, "Popen", lambda *_, **__: SimpleNamespace(stdin=io.StringIO()))
    given = configuration.protocol({"cap": 12, "processes": 3, "most_processes": 5})
    assert Worker(case_of(), given).job["seconds"] == 4


def result(system):
    """What a worker answers, of a product without checks."""
    times = {"samples": [1e-3] * 3, "setup": 0.1, "first": 0.1, "check": 0.1, "total": 1.0, "compiled": 0}
    threads = {"cpus": 2, "affinity": [0, 1], "runtimes": {}}
    checks = [{"name": "product", "error": 0.0, "bound": 1.0}]
    return times | {"phases": [], "checks": checks, "facts": {}, "curve": [], "threads": threads} | system


@pytest.fixture
def answered(monkeypatch):
    """Have the processes of a case answer with these conditions in turn, without starting any."""

    def answer(*conditions):
        given = iter(conditions)
        nothing = lambda *arguments: None  # noqa: E731
        one = SimpleNamespace(wait_ready=nothing, stop=nothing, go=lambda variables: result(next(given)))
        monkeypatch.setattr(measure, "Worker", lambda *job: one)
        return {"processes": len(conditions), "most_processes": len(conditions)}

    return answer


def test_a_record_has_the_conditions_of_every_process():
    found = measured(case_of())["processes"][0]["system"]
    assert any(fact.startswith("blas/") and fact.endswith("/architecture") for fact in found)
    assert {"numpy/vectors", "scheduler/nice", "limit/stack"} <= set(found)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"blas/o.so/architecture": "Haswell", "smt": "1"}, r"blas/o.so/architecture \(Zen and Haswell\)"),
        ({"blas/o.so/architecture": "Zen", "smt": "0"}, r"smt \(1 and 0\)"),
        ({"blas/o.so/architecture": "Zen"}, r"smt \(1 and not known\)"),
        ({"blas/o.so/architecture": "Zen", "smt": "1", "quota": 1.5}, r"quota \(not known and 1.5\)"),
    ],
)
def test_processes_under_different_conditions_are_not_pooled(answered, other, difference):
    one = {"blas/o.so/architecture": "Zen", "smt": "1"}
    changes = answered({"system": one}, {"system": other})
    assert re.search(
        f"The processes of the case ran under different conditions.*: they differ in {difference}.",
        refused(case_of(), changes=changes),
    )
    changes = answered({"system": one}, {"system": one}, {})  # the last of another age
    found = measured(case_of(), changes=changes)
    found["processes"][1]["system"] = other
    record.write("out/record.json", found)
    with pytest.raises(LadderError, match=f"its processes ran under different conditions, {difference}"):
        record.read("out/record.json")


def test_a_rung_of_numba_has_its_threads_and_compiles_nothing_in_its_process():
    """Its threads can be read back once its first region has run."""
    sizes = workloads.complete("stream", {"kernel": "copy", "elements": 1000})
    (process,) = measured(Case("stream", "openmp", sizes, {"threads": 2}, "warm"))["processes"]
    assert process["threads"]["runtimes"]["numba-omp"] == 2
    assert process["compiled"] == 0


@pytest.mark.slow
def test_a_training_has_phases_and_a_curve():
    sizes = {"layers": "784-7-10", "images": 65, "batch": 30, "epochs": 2, "rate": 0.5, "source": "digits"}
    case = Case("mlp", "host", workloads.complete("mlp", sizes), {"product": "blas", "threads": 1}, "warm")
    write_digits("digits")
    due = workloads.load("mlp").reference_sizes(case.sizes)
    preconditions.write_reference("reference.npz", "mlp", due, reference.compute(due, dataset.load("digits")))
    given = {"data": {"digits": "digits"}, "reference": "reference.npz"}
    assert "is checked against a reference" in refused(case, data=given["data"])
    found = measured(case, changes={"phase_passes": 2, "processes": 2, "most_processes": 2}, **given)
    process, other = found["processes"]
    assert len(process["phases"]) == 2
    names = {"gather", "forward 1", "forward 2", "activation", "loss", "gradient 1", "gradient 2", "delta 1"}
    assert set(process["phases"][0]) == names | {"bias", "update"}
    assert [point["epoch"] for point in process["curve"]] == [1, 2]
    assert (other["curve"], len(other["checks"])) == ([], len(process["checks"]))
    assert {check["name"] for check in process["checks"]} == {"w1", "b1", "w2", "b2", "loss", "epoch loss"}


# Refusals


def test_fewer_cores_than_threads_are_refused():
    refusal = refused(case_of(threads=2), granted=1)
    assert refusal.startswith("The case asks for 2 threads, but Snakemake grants 1 core:")
    assert measured(case_of(threads=1), granted=1)
    assert measured(case_of(threads=1), "out/other.json", granted=3)


def test_threads_are_read_back():
    more = written("more_threads", setup="import threadpoolctl; threadpoolctl.threadpool_limits(2)")
    assert "runs 2 threads instead of the case's 1" in refused(case_of(more))
    bound = written("bound", setup="os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})")
    refusal = refused(case_of(bound, threads=2))
    assert "asks for 2 threads, but the process may only use 1 CPU:" in refusal


@pytest.mark.parametrize(
    ("variant", "sentence"),
    [
        ("wrong_killed", "The measuring process was killed by signal 9 (out of memory?) before it had a result"),
        ("wrong_crash", "The variant stopped with ValueError: no such matrix"),
        ("wrong_nothing", "elements of the result 'out' are NaN or infinite"),
        ("wrong_unwritten", "elements of the result 'out' are NaN or infinite"),
        ("wrong_one_element", "The result is wrong (round 1): the error of 'product' is "),
        ("wrong_precision", "The result is wrong (round 1): the error of 'product' is "),
        ("wrong_last_run", "The result is wrong (round 2): 'product, whole numbers' isn't exact although it must be"),
        ("wrong_impossible", "elements of the result 'out' are NaN or infinite"),  # once it has been checked
    ],
)
def test_a_failing_variant_leaves_a_sentence(variant, sentence):
    assert sentence in refused(case_of(variant))


def test_a_phase_that_would_count_as_a_call_is_refused():
    with pytest.raises(LadderError, match="is called `total`"):
        measure.require_phases([{"phases": [{"sum": 1.0}]}, {"phases": [{"sum": 1.0, "total": 2.0}]}])


def test_a_variant_that_ends_its_process_or_prints_spoils_nothing():
    assert "ended with status 3 before it had a result" in refused(case_of(written("ends", run="os._exit(3)")))
    assert measured(case_of(written("prints", setup="print('{}')", run="print('ready')")))


@pytest.mark.parametrize(("number", "is_its"), [("ENOSPC", False), ("ENOENT", True)])
def test_a_full_disk_is_no_mistake_of_the_variants(number, is_its):
    full = f"import errno; raise OSError(errno.{number}, os.strerror(errno.{number}))"
    refusal = refused(case_of(written(number.lower(), setup=full)))
    assert refusal.startswith("The variant stopped with" if is_its else "A file can't be written: ")


def ceilings(flops=None, bandwidth=0.0, cache=0, margin=1.25):
    return {"flops": flops or {}, "bandwidth": bandwidth, "cache_bytes": cache, "margin": margin, "rows": []}


def test_impossible_samples_are_refused():
    assert "is impossible: by the ceilings" in refused(case_of(), ceilings=ceilings(flops={"float64": 1.0}))


@pytest.mark.parametrize(
    ("seconds", "cache", "known", "impossible"),
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
def test_what_a_ceiling_allows(seconds, cache, known, impossible):
    cost = SimpleNamespace(flops=100, bytes=50, precision="float64")
    results = [{"samples": [9.0, 9.0]}, {"samples": [9.0, seconds]}]
    case = Case.parse("gemm", "blas", case_of(cache=cache).slug)  # as a job gets it
    if not impossible:
        require_plausible(case, results, cost, known)
    else:
        with pytest.raises(LadderError, match=f"the {impossible} alone takes"):
            require_plausible(case, results, cost, known)


@pytest.mark.parametrize("ceiling", [{"flops": {"float32": 100.0}}, {"bandwidth": 100.0}])
@pytest.mark.parametrize(
    ("workload", "variant", "tuning", "due"),
    [
        ("dcgan", "home", {"gpus": 2}, (0.5, 0.5)),
        ("dcgan", "mpi_home", {"ranks": 2}, (0.5, 0.5)),
        ("gemv", "mpi", {"ranks": 2}, (0.5, 0.5)),
        ("gemv", "openmp", {"threads": 2}, (0.5, 1)),
        ("dcgan", "cuda", {}, (1, 1)),
    ],
)
def test_cards_ranks_and_threads_are_held_against_the_ceilings_of_all(workload, variant, tuning, due, ceiling):
    """One GPU takes a second for the whole; threads share one memory."""
    case, seconds = Case(workload, variant, {}, tuning, "cold"), due["bandwidth" in ceiling]
    cost = SimpleNamespace(flops=100, bytes=100, precision="float32")
    known = ceilings(**ceiling) | {"cuda": ceilings(**ceiling)}
    require_plausible(case, [{"samples": [0.81 * seconds]}], cost, known)
    with pytest.raises(LadderError, match=f"alone takes {seconds} s"):
        require_plausible(case, [{"samples": [0.79 * seconds]}], cost, known)


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
def test_a_case_that_no_plan_has_is_refused(sizes, tuning, sentence):
    full = workloads.complete("gemm", SIZES)
    assert sentence in refused(Case("gemm", "blas", sizes or full, tuning))


def test_a_worker_that_dies_while_it_waits_is_a_sentence():
    worker = Worker(case_of(), configuration.protocol(PROTOCOL))
    worker.wait_ready()
    worker.process.kill()
    worker.process.wait()
    with pytest.raises(LadderError, match="was killed by signal 9"):
        worker.go()
    worker.stop()


@pytest.mark.parametrize("together", [True, False])
def test_workers_start_at_once_where_the_device_lets_them(monkeypatch, together):
    made = []

    def make(*job):
        made.append(SimpleNamespace(wait_ready=lambda: None, stop=lambda: made.append("stopped")))
        return made[-1]

    monkeypatch.setattr(measure, "Worker", make)
    monkeypatch.setattr(devices.load("host"), "share_start", lambda case, launcher: together)
    with measure.start_workers(case_of(), {"processes": 3}, None, None, None) as workers:
        assert len(workers) == (3 if together else 1)
    assert made[len(workers) :] == ["stopped"] * len(workers)


# What a variant may provide in addition to its run

OFFERING = """
import os
import numpy as np
from ladder.harness.steps import Steps
DEVICE = "host"
RUNTIME = "blas"
ENVIRONMENT = {{"LADDER_SAYS": "binding is {{binding}}"}}

def first_touch(problem):
    assert set(problem.inputs) == {{"a", "b"}}
    problem.a[...] = 7.0

def setup(problem, *, binding: str, threads: int):
    assert os.environ["LADDER_SAYS"] == "binding is close"
    turned = np.zeros(problem.a.shape[::-1])
    def turn():
        {turn}
    product = "product", lambda: np.matmul(turned.T, problem.b, out=problem.out)
    return Steps(prepare=[("turn", turn)], run=[product], trace=lambda: [("lane", "1", 0.25, 0.5)])
"""


def offering(name, turn):
    Path(f"variants/gemm/{name}.py").write_text(OFFERING.format(turn=turn), encoding="utf-8")
    return Case("gemm", name, workloads.complete("gemm", SIZES), {"binding": "close", "threads": 1}, "warm")


def test_what_is_prepared_follows_the_inputs_and_is_a_phase_of_its_own():
    """And the record keeps the trace of the first process."""
    two = {"processes": 2, "most_processes": 2}
    first, second = measured(offering("prepared", "turned[...] = problem.a.T"), "prepared.json", two)["processes"]
    assert all(set(phases) == {"turn", "product"} for phases in first["phases"])
    assert first["trace"] == [["lane", "1", 0.25, 0.5]]
    assert "trace" not in second


@pytest.mark.parametrize(("cache", "expected"), [("cold", ["flush"]), ("warm", [])])
def test_what_follows_a_preparation_finds_the_caches_as_a_timed_call_does(cache, expected):
    seen = []
    device = SimpleNamespace(stopwatch=lambda step: step() or 1.0, by_rank=lambda: [])
    prepare, product, back = ([(name, lambda name=name: seen.append(name))] for name in ("turn", "product", "back"))
    flush = (lambda: seen.append("flush")) if cache == "cold" else lambda: None
    job = SimpleNamespace(phase_passes=2)
    found = worker.phases(device, [prepare, product, back], lambda: seen.append("reset"), flush, job)
    assert seen == ["reset", *expected, "turn", *expected, "product", *expected, "back"] * 2
    assert found == {"phases": [{"turn": 1.0, "product": 1.0, "back": 1.0}] * 2}


def test_of_two_ranks_that_fail_in_one_line_the_first_is_heard():
    assert workers.parse_answer('{"error": "one"}{"error": "two"}\n\n') == {"error": "one"}
    for line in ("prterun noticed that process rank 0 ended\n", '{"error": "cut o', "7\n", "\n"):
        assert workers.parse_answer(line) is None


def test_a_preparation_that_misses_new_inputs_is_caught():
    case = offering("prepared_once", "if not turned.any(): turned[...] = problem.a.T")
    assert "round 2" in refused(case)


# Writing and reading


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The text of a record, measured once."""
    folder = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        measured(case_of(), "sound.json")
    return (folder / "sound.json").read_text()


@pytest.fixture
def sound(place, text):
    """A record in the working folder."""
    Path("sound.json").write_text(text, encoding="utf-8")
    return record.read("sound.json")


def test_an_unwritable_place_is_a_sentence(sound):
    Path("file").touch()
    for out in ("file/record.json", "/proc/nowhere/record.json", "x" * 300 + ".json"):
        with pytest.raises(LadderError, match=r"can't be written: .*\. Make room or allow writing"):
            record.write(out, sound)


def test_a_full_disk_is_a_sentence_and_leaves_the_old_record(sound):
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


def test_a_write_that_is_killed_leaves_the_old_record_and_the_next_one_succeeds(sound):
    script = (
        "import json, os, signal\n"
        "from ladder.records import files\n"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_atomically('sound.json', 'new')"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    assert record.read("sound.json") == sound
    assert Path(".sound.json.part").exists()
    record.write("sound.json", sound | {"machine": "there"})
    assert record.read("sound.json")["machine"] == "there"
    assert not Path(".sound.json.part").exists()


def test_torn_and_foreign_files_are_refused(sound):
    whole = Path("sound.json").read_bytes()
    for number, torn in enumerate((b"", whole[: len(whole) // 2], whole + b"}", b"\xff\xfe", b"\0" * 100)):
        Path(f"{number}.json").write_bytes(torn)
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
        lambda one: one.pop("cost"),
        lambda one: one.update(colour="red"),
        lambda one: one.update(schema=2),
        lambda one: one.update(processes=[]),
        lambda one: one["processes"][0].update(samples=[]),
        lambda one: one["processes"][0].update(samples=[0.0]),
        lambda one: one["processes"][0].update(samples=["1"]),
        lambda one: one["processes"][0].update(checks=[]),
        lambda one: one["processes"][0].pop("threads"),
        lambda one: one["processes"][0].update(trace=[["lane", "1", 0.5]]),
        lambda one: one["processes"][0].update(trace=[["lane", 1, 0.25, 0.5]]),
        lambda one: one["processes"][0].update(trace=[["lane", "1", 0.25, 0.5]] * 401),
        lambda one: one["processes"][0].update(samples=[math.nan]),
        lambda one: one["processes"][0]["checks"][0].update(error=math.inf),
        lambda one: one["processes"][0]["threads"].update(ranks=[{}]),
        lambda one: one.update(wall=10**400),
    ],
)
def test_a_record_that_does_not_fit_the_schema_is_neither_written_nor_read(sound, change):
    change(sound)
    with pytest.raises(LadderError, match="is not a sound record") as written:
        record.write("other.json", sound)
    assert not Path("other.json").exists()
    Path("other.json").write_text(json.dumps(sound | {"digest": record.digest(sound)}), encoding="utf-8")
    with pytest.raises(LadderError) as read:
        record.read("other.json")
    assert str(read.value) == str(written.value)  # and not for what else is wrong with it


def test_a_record_whose_bytes_have_changed_is_refused(sound):
    record.write("mine.json", sound)
    path, digit = Path("mine.json"), repr(sound["wall"])
    text = path.read_text(encoding="utf-8")
    assert record.read(path)["wall"] == sound["wall"]
    path.write_text(text.replace(digit, repr(sound["wall"] * 2)), encoding="utf-8")
    with pytest.raises(LadderError, match="it doesn't match its digest"):
        record.read(path)
    without = {name: value for name, value in json.loads(text).items() if name != "digest"}
    path.write_text(json.dumps(without), encoding="utf-8")
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
def test_a_record_of_wrong_results_is_not_read(sound, change, wrong):
    sound["processes"][-1] |= change
    record.write("other.json", sound)
    with pytest.raises(LadderError, match=f"^other.json is not a sound record: {wrong}.*Delete it and measure again"):
        record.read("other.json")


def test_a_record_says_what_machine_it_is_of(sound):
    record.write("other.json", sound | {"description": {}})
    with pytest.raises(LadderError, match=r"^other.json is not a sound record: description: .*'system' is a required"):
        record.read("other.json")


@pytest.mark.parametrize("name", ["machine", "workload", "variant", "case"])
def test_a_record_among_the_results_is_that_of_its_path(sound, name):
    own = Path(record.path_of(sound["machine"], case_of().key))
    record.write(own, sound)
    assert record.read(own) == record.read(own.absolute()) == sound
    for other in ("0", "other"):  # before and after the right one
        record.write(own, sound | {name: other})
        with pytest.raises(LadderError, match=rf"^{re.escape(str(own))} is not a sound record: it belongs at "):
            record.read(own)


# Processes


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_run_takes_its_measurement_with_it():
    """The one that dies is the parent of the command, as Snakemake is."""
    note = "Path('pids').write_text(f'{os.getppid()} {os.getpid()}\\n'); time.sleep(600)"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, subprocess, sys; "
            "subprocess.run(sys.argv[1:], env=os.environ | {'LADDER_PARENT': str(os.getpid())})",
            *command(case_of(written("s", run=note))),
        ]
    )
    try:
        until(lambda: Path("pids").exists() and Path("pids").read_text(encoding="utf-8").endswith("\n"))
        pids = [int(pid) for pid in Path("pids").read_text(encoding="utf-8").split()]
        assert all(map(is_alive, pids))
    finally:
        parent.kill()
        parent.wait()
    until(lambda: not any(map(is_alive, pids)))
    assert not Path("out").exists()


def test_two_measurements_take_turns(place):
    stamp = "Path(os.environ['LADDER_STAMPS']).open('a').write(f'{time.monotonic_ns()}\\n'); time.sleep(0.05)"
    case = case_of(written("stamps", run=stamp))
    runs = {
        name: subprocess.Popen(command(case, f"out/{name}.json"), env=os.environ | {"LADDER_STAMPS": str(place / name)})
        for name in ("one", "other")
    }
    until(lambda: any((place / name).exists() for name in runs))
    assert all(run.poll() is None for run in runs.values()), "both were under way at once"
    assert [run.wait(60) for run in runs.values()] == [0, 0]
    first, second = sorted([int(line) for line in (place / name).read_text().split()] for name in runs)
    assert len(first) == len(second) >= 6
    assert first[-1] < second[0]


def test_every_device_may_stand_in_a_record():
    assert json.loads(record.SCHEMA_FILE.read_text())["properties"]["device"]["enum"] == list(devices.CLASSES)
