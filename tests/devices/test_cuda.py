"""What runs on a GPU: every variant at odd shapes, the clock, and the sentences without a GPU."""

import itertools
import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import sanitized
from conftest import PROTOCOL, TESTS
from ladder import cuda, devices
from ladder.catalogue import workloads
from ladder.cuda import clock, cublas, gpus
from ladder.data.dataset import load as load_data
from ladder.data.digits import write as write_digits
from ladder.devices import gpu
from ladder.errors import LadderError
from ladder.harness import validation, worker
from ladder.machine import nvidia
from ladder.records import record
from ladder.records.case import Case

CUDA = devices.load("cuda")
# The variants whose products a training can use; `cublas_mixed` is tested by its precisions.
VARIANTS = [
    name
    for name in workloads.variants("gemm")
    if workloads.constants("gemm", name)["DEVICE"] == "cuda" and workloads.defines("gemm", name, "product")
]
TRAININGS = [("784-30-10", "sigmoid", 130, 32), ("784-17-33-10", "relu", 65, 65), ("784-10", "sigmoid", 17, 1)]
SHAPES = [
    (1, 1, 1),
    (1, 17, 65),
    (65, 1, 17),
    (17, 65, 1),
    (65, 65, 65),
    (100, 300, 784),
    (784, 300, 100),
    (257, 130, 33),
]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", ["nn", "tn", "nt"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_variant_is_right_at_odd_shapes(variant, form, dtype, shape):
    m, n, k = shape
    case = sanitized.case("gemm", variant, {}, form=form, m=m, n=n, k=k, dtype=dtype)
    validation.require(sanitized.judged(sanitized.solved(case, round=1), case, round=1), variant)


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ["off", "on"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("product", VARIANTS)
@pytest.mark.parametrize(("layers", "activation", "images", "batch"), TRAININGS)
def test_the_training_follows_the_reference(trained, product, dtype, graph, layers, activation, images, batch):
    result = trained("cuda", layers, activation, images, batch, dtype, product=product, graph=graph)
    assert [point["epoch"] for point in result["curve"]] == [1, 2, 3]
    assert {"loss", "w1", "b1", "epoch loss"} <= {check["name"] for check in result["checks"]}
    assert ("gather" in result["phases"][0]) == (graph == "off")


@pytest.mark.gpu
@pytest.mark.parametrize("product", VARIANTS)
def test_the_training_of_a_deep_network_follows_the_reference(trained, product):
    trained("cuda", "784-1000-1000-1000-10", "relu", 100, 100, "float64", rate=0.1, product=product)


@pytest.mark.gpu
@pytest.mark.parametrize("memory", ["pageable", "pinned"])
@pytest.mark.parametrize(("layers", "activation", "images", "batch"), TRAININGS)
def test_the_training_with_copies_follows_the_reference(trained, memory, layers, activation, images, batch):
    """The last batch may be smaller."""
    sizes = layers, activation, images, batch, "float64"
    result = trained("cuda_copies", *sizes, product="cublas", memory=memory)
    assert {"copy in", "kernels", "copy out"} <= set(result["phases"][0])


@pytest.fixture
def trained(tmp_path):
    """A function that runs a training's job on the digits, including checks, and returns its result."""

    def run(variant, layers, activation, images, batch, dtype, rate=0.5, **tuning):
        write_digits(tmp_path / "digits")
        sizes = {"layers": layers, "activation": activation, "images": images, "batch": batch, "dtype": dtype}
        sizes = workloads.complete("mlp", {**sizes, "epochs": 3, "rate": rate, "source": "digits"})
        mlp = workloads.load("mlp")
        exact = mlp.reference.compute(mlp.reference_sizes(sizes), load_data(tmp_path / "digits"))
        np.savez(tmp_path / "exact.npz", **exact)
        case = Case("mlp", variant, sizes, tuning)
        limits = {
            "seconds": 0.1,
            "samples": 2,
            "least": 2,
            "most": 2,
            "target": 1.0,
            "phase_passes": 1,
            "energy": False,
        }
        job = SimpleNamespace(data={"digits": tmp_path / "digits"}, reference=tmp_path / "exact.npz", **limits)
        return worker.run_case(case, mlp, workloads.load_variant("mlp", variant), job)

    return run


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ["off", "on"])
def test_pytorch_follows_the_reference(trained, graph):
    pytest.importorskip("torch", reason="requires PyTorch")
    trained("pytorch_cuda", "784-30-10", "sigmoid", 130, 32, "float64", graph=graph)


@pytest.mark.gpu
def test_cards_have_the_names_that_the_driver_gives_them():
    names = [gpus.uuid(number) for number in gpus.device_ids()]
    assert sorted(names) == sorted(one["uuid"] for one in nvidia.gpus())


@pytest.mark.gpu
def test_tf32_is_within_its_own_bound_and_beyond_that_of_float32():
    case = sanitized.case("gemm", "cublas", {"math": "tf32"}, m=257, n=130, k=784, dtype="float32")
    problem = sanitized.solved(case)
    assert workloads.precision(case) == "tf32"
    assert all(check.passed for check in sanitized.judged(problem, case))
    assert not all(check.passed for check in sanitized.judged(problem, case, precision="float32"))


@pytest.mark.gpu
@pytest.mark.parametrize("form", ["nn", "tn", "nt"])
@pytest.mark.parametrize("math", ["float16", "bfloat16", "tf32x3"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_mixed_precision_is_right_at_odd_shapes(math, form, shape):
    m, n, k = shape
    case = sanitized.case("gemm", "cublas_mixed", {"math": math}, form=form, m=m, n=n, k=k, dtype="float32")
    validation.require(sanitized.judged(sanitized.solved(case, round=1), case, round=1), math)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("math", "beyond"), [("float16", "float32"), ("bfloat16", "float16"), ("tf32x3", "float64"), ("tf32x3", None)]
)
@pytest.mark.parametrize("conversion", ["timed", "ahead"])
def test_a_mixed_precision_is_within_its_own_bound_and_beyond_that_of_another(math, beyond, conversion):
    """Operands split in two parts of TF32 meet float32's bound, too."""
    tuning = {"math": math, "conversion": conversion}
    case = sanitized.case("gemm", "cublas_mixed", tuning, m=257, n=130, k=65, form="nt", dtype="float32")
    problem = sanitized.solved(case)
    assert workloads.precision(case) == math
    assert all(check.passed for check in sanitized.judged(problem, case))
    passed = all(check.passed for check in sanitized.judged(problem, case, precision=beyond or "float32"))
    assert passed == (beyond is None)


@pytest.mark.gpu
def test_an_array_that_does_not_fit_is_a_sentence():
    with (
        pytest.raises(LadderError, match=r"is out of memory .*: \d+ of \d+ bytes are free"),
        CUDA.translate_errors(),
    ):
        cuda.empty((2**40,), np.float64)


@pytest.mark.gpu
@pytest.mark.clock
def test_the_stopwatch_times_the_gpu_and_not_the_launch():
    wait = clock.spin()
    seconds = np.median([CUDA.stopwatch(lambda: wait((1,), (1,), (300_000,))) for _ in range(20)])
    assert 300e-6 <= seconds < 330e-6
    nothing = np.median([CUDA.stopwatch(lambda: None) for _ in range(50)])
    assert nothing < 0.3 * clock.event_overhead()


@pytest.mark.skipif(bool(nvidia.gpus()), reason="requires a machine without a GPU")
def test_without_a_gpu_a_sentence_says_so():
    with pytest.raises(LadderError, match=r"CuPy is not installed|There is no GPU to work on"):
        cuda.load_cupy()
    with pytest.raises(LadderError, match="no GPU to work on"), CUDA.lease():
        pass


NAIVE = ["gemm", "cuda_naive", "form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1,cache=warm,block=16"]
# Words of the sentence for each fault of tests/fake_cupy/cupy.py.
FAULTS = {
    "driver": "There is no GPU to work on: CUDA reports cudaErrorInsufficientDriver: CUDA driver version is "
    "insufficient; update the driver, 580.1.",
    "device": "There is no GPU to work on: CUDA reports cudaErrorNoDevice: no CUDA-capable device is detected; "
    "`nvidia-smi` must list a GPU.",
    "arrays": "(Out of memory allocating 8,192 bytes (allocated so far: 4,096 bytes)): 1000 of 5000 bytes are free. "
    "Lower the sizes",
    "launch": "(CUDA_ERROR_OUT_OF_MEMORY: out of memory): 1000 of 5000 bytes are free. Lower the sizes",
    "nothing": "elements of the result 'out' are NaN or infinite",  # kernels of the stand-in do nothing
}


def run(tmp_path, case, protocol=PROTOCOL, **variables):
    """Measure a case on the stand-in for a GPU; the process, which has ended."""
    command = [sys.executable, "-m", "ladder", "measure", *case, "--out", "record.json"]
    folders = [str(TESTS / "fake_cupy"), os.environ.get("PYTHONPATH", "")]
    given = {"PYTHONPATH": os.pathsep.join(filter(None, folders)), "LADDER_COMMIT": "f" * 40}  # also without git
    return subprocess.run(
        [*command, "--protocol", json.dumps(protocol)],
        cwd=tmp_path,
        env={**os.environ, **given, **variables},
        capture_output=True,
        text=True,
    )


def refused(tmp_path, case=NAIVE, **variables):
    """The last line of measuring a case on the stand-in for a GPU."""
    done = run(tmp_path, case, **variables)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert not (tmp_path / "record.json").exists()
    return done.stderr


@pytest.mark.parametrize(
    "fault", [name if name in ("driver", "nothing") else pytest.param(name, marks=pytest.mark.slow) for name in FAULTS]
)
def test_what_is_wrong_with_a_card_is_one_sentence(cards, tmp_path, fault):
    cards(1)
    assert FAULTS[fault] in refused(tmp_path, LADDER_FAULT=fault)


def test_measuring_on_a_gpu_where_there_is_none_is_one_sentence(tmp_path):
    refusal = refused(tmp_path, LADDER_FAULT="nothing", CUDA_VISIBLE_DEVICES="")
    assert refusal == "ladder measure: There is no GPU to work on: `nvidia-smi` lists none.\n"


def unjoined(joined):
    sizes = "form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1,cache=warm"
    return "gemm", "wrong_unjoined", f"{sizes},joined={joined}"


def test_work_in_a_stream_that_nothing_waits_for_is_refused(cards, tmp_path):
    cards(1)
    refusal = refused(tmp_path, unjoined("no"), LADDER_FAULT="none", LADDER_VARIANTS=str(TESTS / "variants"))
    assert "The GPU keeps working for 0." in refusal
    assert "the variant leaves work in a stream for which the current one doesn't wait" in refusal


@pytest.mark.parametrize(
    ("state", "asked"),
    [
        ({"energy": 7, "watts": 100}, True),
        pytest.param({"energy": 7}, False, marks=pytest.mark.slow),
        pytest.param({}, True, marks=pytest.mark.slow),
    ],
)
def test_work_that_is_waited_for_is_measured_with_its_energy_where_that_is_asked_and_counted(
    cards, tmp_path, state, asked
):
    cards(1, clock=1980, **state)
    variables = {"LADDER_FAULT": "none", "LADDER_VARIANTS": str(TESTS / "variants")}
    done = run(tmp_path, unjoined("yes"), PROTOCOL | {"energy": asked}, **variables)
    assert done.returncode == 0, done.stderr
    (process,) = record.read(tmp_path / "record.json")["processes"]
    assert process["state"].pop("clock") == 1980
    if "watts" in state:
        assert process["state"].pop("joules") >= 0.98  # 100 W for 10 ms, and the repeats' own time
        assert process["state"].pop("sustained") >= 0.0098
    assert process["state"] == {}


@pytest.mark.gpu
@pytest.mark.clock
@pytest.mark.parametrize("joined", ["no", "yes"])
@pytest.mark.parametrize("size", [2049, 4097])
def test_a_card_that_works_on_after_a_run_is_noticed(monkeypatch, size, joined):
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    case = sanitized.case("gemm", "wrong_unjoined", {"joined": joined}, m=size, n=size, k=size)
    problem = worker.make_problem(workloads.load("gemm"), case, CUDA)
    run = workloads.load_variant("gemm", "wrong_unjoined").setup(problem, joined=joined)
    CUDA.stopwatch(run)
    if joined == "yes":
        CUDA.require_finished(run)
    else:
        with pytest.raises(LadderError, match="The GPU keeps working for"):
            CUDA.require_finished(run)


@pytest.fixture
def seen(monkeypatch):
    """A function that makes a number of GPUs visible; their names."""

    def see(count):
        monkeypatch.setattr(gpus, "device_ids", lambda: range(count))
        monkeypatch.setattr(gpus, "uuid", lambda number: f"GPU-{number}")

    monkeypatch.setattr(gpus, "synchronize", lambda: None)
    see(1)
    return see


@pytest.mark.parametrize("count", [1, 2])
def test_energy_is_counted_between_changes_of_the_counters_of_all_cards(seen, count, monkeypatch):
    """A counter counts 3 J a run and changes with every fourth; runs come in pairs. Its reading takes a while."""
    runs, readings = [], []  # seconds of runs, and how many there were when the counter was read

    def run():
        began = time.perf_counter()
        time.sleep(1e-3)
        runs.append(time.perf_counter() - began)

    def read(uuid):
        readings.append(len(runs))
        time.sleep(0.02)
        return 100.0 + 12 * (len(runs) // 4)

    seen(count)
    monkeypatch.setattr(nvidia, "energy", read)
    monkeypatch.setattr(gpu, "MIN_SECONDS", 0.1)
    monkeypatch.setattr(CUDA, "stopwatch", lambda run: 0.01)
    found = CUDA.energy(run)
    assert found["joules"] == 3.0 * count
    assert min(runs) <= found["sustained"] < 4 * np.median(runs), "the readings are not a part of it"
    assert max(later - earlier for earlier, later in itertools.pairwise(readings)) > len(runs) / 2, "no reading between"


def test_all_cards_are_waited_for(monkeypatch):
    waited = []

    def device(number):
        return SimpleNamespace(synchronize=lambda: waited.append(number))

    monkeypatch.setattr(gpus, "device_ids", lambda: range(3))
    monkeypatch.setattr(gpus, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(Device=device)))
    gpus.synchronize()
    assert waited == [0, 1, 2]


def test_without_a_counter_there_is_no_energy(seen, monkeypatch):
    seen(2)
    monkeypatch.setattr(nvidia, "energy", {"GPU-0": 5.0, "GPU-1": None}.get)
    assert CUDA.energy(lambda: None) == {}
    monkeypatch.setattr(nvidia, "energy", lambda uuid: 5.0)  # it never changes
    monkeypatch.setattr(gpu, "PATIENCE", 0.01)
    monkeypatch.setattr(gpu, "MIN_SECONDS", 0.01)
    monkeypatch.setattr(CUDA, "stopwatch", lambda run: 1.0)
    assert CUDA.energy(lambda: None) == {}


def test_an_old_driver_is_told_from_a_card_that_is_missing(monkeypatch):
    def count():
        raise RuntimeError(error)

    runtime = SimpleNamespace(CUDARuntimeError=RuntimeError, getDeviceCount=count)
    monkeypatch.setattr(gpus, "import_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    for seen, error, hint in (
        ([{"driver": "580.1"}], "cudaErrorInsufficientDriver", "update the driver, 580.1"),
        ([{"driver": "580.1"}], "cudaErrorNoDevice", "`nvidia-smi` must list a GPU"),
        ([], "cudaErrorInsufficientDriver", "`nvidia-smi` must list a GPU"),
    ):
        monkeypatch.setattr(nvidia, "gpus", lambda seen=seen: seen)
        with pytest.raises(LadderError, match=f"no GPU to work on: CUDA reports {error}; {hint}"):
            gpus.load_cupy.__wrapped__()


@pytest.mark.parametrize(
    ("overhead", "reading"), [("event_overhead", "between_events"), ("idle_overhead", "until_idle")]
)
def test_what_the_clock_itself_costs_is_the_median_and_measured_once(monkeypatch, overhead, reading):
    asked, times = getattr(clock, overhead), itertools.cycle([1e-6, 2e-6, 9e-6])
    monkeypatch.setattr(clock, reading, lambda *run: next(times))
    asked.cache_clear()
    try:
        assert asked() == 2e-6
        monkeypatch.setattr(clock, reading, lambda *run: pytest.fail("it is measured again"))
        assert asked() == 2e-6
    finally:
        asked.cache_clear()


def test_as_many_blocks_run_at_once_as_all_multiprocessors_hold(monkeypatch):
    asked = []
    driver = SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=lambda *given: asked.append(given) or held)
    monkeypatch.setattr(cuda, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(driver=driver)))
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 132)
    kernel, held = SimpleNamespace(kernel=SimpleNamespace(ptr=4096)), 2
    assert cuda.blocks_at_once(kernel, 128, 1000) == 264
    assert (asked, kernel.max_dynamic_shared_size_bytes) == ([(4096, 128, 1000)], 1000)
    held = 0
    with pytest.raises(LadderError, match="A block of 128 threads with 1000 bytes of shared memory does not fit"):
        cuda.blocks_at_once(kernel, 128, 1000)


def test_pages_are_locked_for_all_cards_as_long_as_an_array_lives(monkeypatch):
    told = []
    runtime = SimpleNamespace(
        hostRegister=lambda *given: told.append(given), hostUnregister=lambda *given: told.append(given)
    )
    monkeypatch.setattr(cuda, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    array = np.empty(10)
    address, portable = array.ctypes.data, 1
    cuda.lock_pages(array)
    assert told == [(address, 80, portable)]
    del array
    assert told[1:] == [(address,)]


@pytest.mark.gpu
@pytest.mark.clock
def test_the_energy_of_a_run_is_that_of_a_working_card():
    wait = clock.spin()
    found = CUDA.energy(lambda: wait((1,), (1,), (10_000_000,)))
    if not found:
        pytest.skip("requires a card that counts its energy")
    assert 10 < found["joules"] / found["sustained"] < 1000


@pytest.mark.parametrize(
    ("status", "words"), [(3, r"\(cublasDgemm_v2 is out of memory\): 1 of 2 bytes are free"), (7, "with status 7")]
)
def test_a_refusal_of_cublas_is_a_sentence(monkeypatch, status, words):
    runtime = SimpleNamespace(memGetInfo=lambda: (1, 2))
    monkeypatch.setattr(gpus, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(cublas, "library", lambda: {"cublasDgemm_v2": lambda: status})
    with pytest.raises(LadderError, match=words), CUDA.translate_errors():
        cublas.call("cublasDgemm_v2")


def test_other_errors_keep_their_traceback():
    with pytest.raises(RuntimeError, match="illegal address"), CUDA.translate_errors():
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal address was encountered")
