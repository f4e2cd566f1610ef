"""The device `cuda`: every variant of a product at odd shapes, the clock, energy, and errors without a GPU."""

import itertools
import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import kernel_cases
from conftest import JOB_PROTOCOL, PROTOCOL, TESTS
from ladder import cuda, devices
from ladder.catalogue import traits, workloads
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
# `cublas_mixed`, which no training can use, is tested by its precisions.
PRODUCTS_AND_DTYPES = list(kernel_cases.products_and_dtypes())
# (layers, activation, images, images of a batch). The last batch of the first training is smaller.
TRAININGS = [("784-30-10", "sigmoid", 130, 32), ("784-17-33-10", "relu", 65, 65), ("784-10", "sigmoid", 17, 1)]
# (m, n, k).
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
@pytest.mark.parametrize("form", ["nn", "tn", "nt"])
@pytest.mark.parametrize(("variant", "dtype"), PRODUCTS_AND_DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_variant_is_right_at_odd_shapes(variant, form, dtype, shape):
    m, n, k = shape
    case = kernel_cases.case("gemm", variant, {}, form=form, m=m, n=n, k=k, dtype=dtype)
    validation.require(kernel_cases.run_checks(kernel_cases.solve(case, round=1), case, round=1), variant)


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ["off", "on"])
@pytest.mark.parametrize(("product", "dtype"), PRODUCTS_AND_DTYPES)
@pytest.mark.parametrize(("layers", "activation", "images", "batch"), TRAININGS)
def test_the_training_follows_the_reference(run_training, product, dtype, graph, layers, activation, images, batch):
    result = run_training("cuda", layers, activation, images, batch, dtype, product=product, graph=graph)
    assert [point["epoch"] for point in result["curve"]] == [1, 2, 3]
    assert {"loss", "w1", "b1", "epoch loss"} <= {check["name"] for check in result["checks"]}
    assert ("gather" in result["phases"][0]) == (graph == "off")


@pytest.mark.gpu
@pytest.mark.parametrize("product", kernel_cases.product_variants(only_project_sources=False))
def test_the_training_of_a_deep_network_follows_the_reference(run_training, product):
    run_training("cuda", "784-1000-1000-1000-10", "relu", 100, 100, "float64", rate=0.1, product=product)


@pytest.mark.gpu
@pytest.mark.parametrize("memory", ["pageable", "pinned"])
@pytest.mark.parametrize(("layers", "activation", "images", "batch"), TRAININGS)
def test_the_training_with_copies_follows_the_reference(run_training, memory, layers, activation, images, batch):
    sizes = layers, activation, images, batch, "float64"
    result = run_training("cuda_copies", *sizes, product="cublas", memory=memory)
    assert {"copy in", "kernels", "copy out"} <= set(result["phases"][0])


@pytest.fixture
def run_training(tmp_path):
    """A function that runs a training's job on the digits, including checks, and returns its result."""

    def run(variant, layers, activation, images, batch, dtype, rate=0.5, **tuning):
        write_digits(tmp_path / "digits")
        sizes = {"layers": layers, "activation": activation, "images": images, "batch": batch, "dtype": dtype}
        sizes = workloads.complete("mlp", {**sizes, "epochs": 3, "rate": rate, "source": "digits"})
        mlp = workloads.load("mlp")
        reference = mlp.reference.compute(mlp.reference_sizes(sizes), load_data(tmp_path / "digits"))
        np.savez(tmp_path / "reference.npz", **reference)
        case = Case("mlp", variant, sizes, tuning)
        job_protocol = JOB_PROTOCOL | {"samples": 2, "least": 2, "most": 2}
        job = SimpleNamespace(
            data={"digits": tmp_path / "digits"}, reference=tmp_path / "reference.npz", **job_protocol
        )
        return worker.run_case(case, mlp, workloads.load_variant("mlp", variant), job)

    return run


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", ["off", "on"])
@pytest.mark.parametrize("graph", ["off", "on"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pytorch_follows_the_reference(run_training, dtype, graph, compiled):
    """The last batch is smaller."""
    pytest.importorskip("torch", reason="requires PyTorch")
    run_training("pytorch_cuda", "784-30-10", "sigmoid", 130, 32, dtype, graph=graph, compiled=compiled)


@pytest.mark.gpu
def test_uuids_of_gpus_are_those_of_the_driver():
    names = [gpus.uuid(number) for number in gpus.device_ids()]
    assert sorted(names) == sorted(gpu["uuid"] for gpu in nvidia.gpus())


@pytest.mark.gpu
def test_tf32_is_within_its_own_bound_and_beyond_that_of_float32():
    case = kernel_cases.case("gemm", "cublas", {"math": "tf32"}, m=257, n=130, k=784, dtype="float32")
    problem = kernel_cases.solve(case)
    assert traits.precision(case) == "tf32"
    assert all(check.passed for check in kernel_cases.run_checks(problem, case))
    assert not all(check.passed for check in kernel_cases.run_checks(problem, case, precision="float32"))


@pytest.mark.gpu
@pytest.mark.parametrize("form", ["nn", "tn", "nt"])
@pytest.mark.parametrize("math", ["float16", "bfloat16", "tf32x3"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_mixed_precision_is_right_at_odd_shapes(math, form, shape):
    m, n, k = shape
    case = kernel_cases.case("gemm", "cublas_mixed", {"math": math}, form=form, m=m, n=n, k=k, dtype="float32")
    validation.require(kernel_cases.run_checks(kernel_cases.solve(case, round=1), case, round=1), math)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("math", "beyond"), [("float16", "float32"), ("bfloat16", "float16"), ("tf32x3", "float64"), ("tf32x3", None)]
)
@pytest.mark.parametrize("conversion", ["timed", "ahead"])
def test_a_mixed_precision_is_within_its_own_bound_and_beyond_that_of_another(math, beyond, conversion):
    """`beyond` is the precision whose bound is exceeded; tf32x3, with two TF32 numbers per operand, meets float32's."""
    tuning = {"math": math, "conversion": conversion}
    case = kernel_cases.case("gemm", "cublas_mixed", tuning, m=257, n=130, k=65, form="nt", dtype="float32")
    problem = kernel_cases.solve(case)
    assert traits.precision(case) == math
    assert all(check.passed for check in kernel_cases.run_checks(problem, case))
    passed = all(check.passed for check in kernel_cases.run_checks(problem, case, precision=beyond or "float32"))
    assert passed == (beyond is None)


def test_unpinned_staging_arrays_need_no_gpu():
    staged = CUDA.staging_arrays({"a": np.zeros((17, 1), np.float32)}, pinned=False)  # pinning would need a GPU
    assert (staged["a"].shape, staged["a"].dtype) == ((17, 1), np.float32)


@pytest.mark.gpu
def test_an_array_that_does_not_fit_is_an_error():
    with (
        pytest.raises(LadderError, match=r"is out of memory .*: \d+ of \d+ bytes are free"),
        CUDA.translate_errors(),
    ):
        cuda.empty((2**40,), np.float64)


@pytest.mark.gpu
@pytest.mark.clock
def test_the_stopwatch_times_the_gpu_and_not_the_launch():
    spin = clock.spin_kernel()  # a kernel that takes as many ns as its argument says
    seconds = np.median([CUDA.stopwatch(lambda: spin((1,), (1,), (300_000,))) for _ in range(20)])
    assert 300e-6 <= seconds < 330e-6  # a launch may add 10 %
    seconds_of_nothing = np.median([CUDA.stopwatch(lambda: None) for _ in range(50)])
    assert seconds_of_nothing < 0.3 * clock.event_overhead()  # which the clock has subtracted


@pytest.mark.skipif(bool(nvidia.gpus()), reason="requires a machine without a GPU")
def test_without_a_gpu_there_is_an_error():
    with pytest.raises(LadderError, match=r"CuPy is not installed|There is no GPU to work on"):
        cuda.load_cupy()
    with pytest.raises(LadderError, match="no GPU to work on"), CUDA.lease():
        pass


NAIVE_CASE_WORDS = ["gemm", "cuda_naive", "form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1,cache=warm,block=16"]
# A part of the error for each fault of tests/fake_cupy/cupy.py.
FAULTS = {
    "driver": "There is no GPU to work on: CUDA reports cudaErrorInsufficientDriver: CUDA driver version is "
    "insufficient; update the driver, 580.1.",
    "device": "There is no GPU to work on: CUDA reports cudaErrorNoDevice: no CUDA-capable device is detected; "
    "`nvidia-smi` must list a GPU.",
    "arrays": "(Out of memory allocating 8,192 bytes (allocated so far: 4,096 bytes)): 1000 of 5000 bytes are free. "
    "Lower the sizes",
    "launch": "(CUDA_ERROR_OUT_OF_MEMORY: out of memory): 1000 of 5000 bytes are free. Lower the sizes",
}


def measure_on_stand_in(tmp_path, case, protocol=PROTOCOL, **variables):
    """Measure a case, given as words of a command line, on the stand-in for a GPU; returns the completed process."""
    command = [sys.executable, "-m", "ladder", "measure", *case, "--out", "record.json"]
    folders = [str(TESTS / "fake_cupy"), os.environ.get("PYTHONPATH", "")]
    # LADDER_COMMIT makes git unnecessary.
    defaults = {"PYTHONPATH": os.pathsep.join(filter(None, folders)), "LADDER_COMMIT": "f" * 40}
    return subprocess.run(
        [*command, "--protocol", json.dumps(protocol)],
        cwd=tmp_path,
        env={**os.environ, **defaults, **variables},
        capture_output=True,
        text=True,
    )


def refusal_of(tmp_path, case=NAIVE_CASE_WORDS, **variables):
    """The error of a refused measurement on the stand-in for a GPU, a single line."""
    result = measure_on_stand_in(tmp_path, case, **variables)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1), result.stderr
    assert not (tmp_path / "record.json").exists()
    return result.stderr


@pytest.mark.parametrize(
    "fault", [name if name == "driver" else pytest.param(name, marks=pytest.mark.slow) for name in FAULTS]
)
def test_every_fault_of_a_gpu_is_an_error_of_one_line(fake_gpus, tmp_path, fault):
    fake_gpus(1)
    assert FAULTS[fault] in refusal_of(tmp_path, LADDER_FAULT=fault)


def test_a_kernel_that_does_nothing_is_an_error_of_one_line(fake_gpus, tmp_path):
    fake_gpus(1)
    assert "elements of the result 'out' are NaN" in refusal_of(tmp_path, LADDER_FAULT="none")


def test_measuring_without_a_gpu_is_an_error_of_one_line(tmp_path):
    refusal = refusal_of(tmp_path, LADDER_FAULT="none", CUDA_VISIBLE_DEVICES="")
    assert refusal == "ladder measure: There is no GPU to work on: `nvidia-smi` lists none.\n"


def case_with_side_stream(joined):
    """The case of a variant that leaves work in a side stream, for which the current stream waits if `joined`."""
    sizes = "form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1,cache=warm"
    return "gemm", "wrong_unjoined", f"{sizes},joined={joined}"


def test_work_in_a_stream_that_is_not_waited_for_is_refused(fake_gpus, tmp_path):
    fake_gpus(1)
    variables = {"LADDER_FAULT": "none", "LADDER_VARIANTS": str(TESTS / "variants")}
    refusal = refusal_of(tmp_path, case_with_side_stream("no"), **variables)
    assert "The GPU keeps working for 0." in refusal
    assert "the variant leaves work in a stream for which the current one doesn't wait" in refusal


@pytest.mark.parametrize(
    ("state", "is_requested"),
    [
        ({"energy": 7, "watts": 100}, True),
        pytest.param({"energy": 7}, False, marks=pytest.mark.slow),
        pytest.param({}, True, marks=pytest.mark.slow),
    ],
)
def test_energy_is_measured_if_it_is_requested_and_counted(fake_gpus, tmp_path, state, is_requested):
    fake_gpus(1, clock=1980, **state)
    variables = {"LADDER_FAULT": "none", "LADDER_VARIANTS": str(TESTS / "variants")}
    result = measure_on_stand_in(
        tmp_path, case_with_side_stream("yes"), PROTOCOL | {"energy": is_requested}, **variables
    )
    assert result.returncode == 0, result.stderr
    (process,) = record.read(tmp_path / "record.json")["processes"]
    assert process["state"].pop("clock") == 1980
    if "watts" in state:
        assert process["state"].pop("joules") >= 0.98  # 100 W for 10 ms, plus the overhead of the repetitions
        assert process["state"].pop("sustained") >= 0.0098
    assert process["state"] == {}


@pytest.mark.gpu
@pytest.mark.clock
@pytest.mark.parametrize("joined", ["no", "yes"])
@pytest.mark.parametrize("size", [2049, 4097])
def test_a_gpu_that_works_after_the_end_of_a_run_is_detected(monkeypatch, size, joined):
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    case = kernel_cases.case("gemm", "wrong_unjoined", {"joined": joined}, m=size, n=size, k=size)
    problem = worker.make_problem(workloads.load("gemm"), case, CUDA)
    run = workloads.load_variant("gemm", "wrong_unjoined").setup(problem, joined=joined)
    CUDA.stopwatch(run)
    if joined == "yes":
        CUDA.require_finished(run)
    else:
        with pytest.raises(LadderError, match="The GPU keeps working for"):
            CUDA.require_finished(run)


@pytest.fixture
def set_gpu_count(monkeypatch):
    """A function that makes this number of GPUs visible, 1 at first."""

    def set_count(count):
        monkeypatch.setattr(gpus, "device_ids", lambda: range(count))
        monkeypatch.setattr(gpus, "uuid", lambda number: f"GPU-{number}")

    monkeypatch.setattr(gpus, "synchronize", lambda: None)
    set_count(1)
    return set_count


@pytest.mark.parametrize("count", [1, 2])
def test_energy_is_read_right_after_changes_of_the_counters_of_all_gpus(set_gpu_count, count, monkeypatch):
    """The counter adds 12 J after every fourth run, 3 J per run. Runs come in batches of two; a reading takes 20 ms."""
    runs, readings = [], []  # the seconds of runs, and their number at each reading of the counter

    def run():
        start = time.perf_counter()
        time.sleep(1e-3)
        runs.append(time.perf_counter() - start)

    def read(uuid):
        readings.append(len(runs))
        time.sleep(0.02)
        return 100.0 + 12 * (len(runs) // 4)

    set_gpu_count(count)
    monkeypatch.setattr(nvidia, "energy", read)
    monkeypatch.setattr(gpu, "MIN_SECONDS", 0.1)
    monkeypatch.setattr(CUDA, "stopwatch", lambda run: 0.01)
    result = CUDA.energy(run)
    assert result["joules"] == 3.0 * count
    assert min(runs) <= result["sustained"] < 4 * np.median(runs), "without the time of readings"
    assert max(later - earlier for earlier, later in itertools.pairwise(readings)) > len(runs) / 2, (
        "no reading in between"
    )


def test_synchronize_waits_for_all_gpus(monkeypatch):
    numbers = []

    def device(number):
        return SimpleNamespace(synchronize=lambda: numbers.append(number))

    monkeypatch.setattr(gpus, "device_ids", lambda: range(3))
    monkeypatch.setattr(gpus, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(Device=device)))
    gpus.synchronize()
    assert numbers == [0, 1, 2]


def test_without_a_counter_there_is_no_energy(set_gpu_count, monkeypatch):
    set_gpu_count(2)
    monkeypatch.setattr(nvidia, "energy", {"GPU-0": 5.0, "GPU-1": None}.get)
    assert CUDA.energy(lambda: None) == {}
    monkeypatch.setattr(nvidia, "energy", lambda uuid: 5.0)  # it never changes
    monkeypatch.setattr(gpu, "TIMEOUT", 0.01)
    monkeypatch.setattr(gpu, "MIN_SECONDS", 0.01)
    monkeypatch.setattr(CUDA, "stopwatch", lambda run: 1.0)
    assert CUDA.energy(lambda: None) == {}


def test_an_old_driver_and_a_missing_gpu_have_different_errors(monkeypatch):
    def get_count():
        raise RuntimeError(error)

    runtime = SimpleNamespace(CUDARuntimeError=RuntimeError, getDeviceCount=get_count)
    monkeypatch.setattr(gpus, "import_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    for listed_gpus, error, hint in (
        ([{"driver": "580.1"}], "cudaErrorInsufficientDriver", "update the driver, 580.1"),
        ([{"driver": "580.1"}], "cudaErrorNoDevice", "`nvidia-smi` must list a GPU"),
        ([], "cudaErrorInsufficientDriver", "`nvidia-smi` must list a GPU"),
    ):
        monkeypatch.setattr(nvidia, "gpus", lambda listed_gpus=listed_gpus: listed_gpus)
        with pytest.raises(LadderError, match=f"no GPU to work on: CUDA reports {error}; {hint}"):
            gpus.load_cupy.__wrapped__()


@pytest.mark.parametrize(
    ("overhead", "reading"), [("event_overhead", "time_between_events"), ("idle_overhead", "time_until_idle")]
)
def test_an_overhead_of_the_clock_is_a_median_and_measured_once(monkeypatch, overhead, reading):
    function, times = getattr(clock, overhead), itertools.cycle([1e-6, 2e-6, 9e-6])
    monkeypatch.setattr(clock, reading, lambda *run: next(times))
    function.cache_clear()
    try:
        assert function() == 2e-6
        monkeypatch.setattr(clock, reading, lambda *run: pytest.fail("the overhead is measured again"))
        assert function() == 2e-6
    finally:
        function.cache_clear()


def test_blocks_at_once_are_counted_on_all_multiprocessors(monkeypatch):
    calls = []

    def max_active_blocks(*arguments):
        calls.append(arguments)
        return blocks

    driver = SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=max_active_blocks)
    monkeypatch.setattr(cuda, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(driver=driver)))
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 132)
    kernel, blocks = SimpleNamespace(kernel=SimpleNamespace(ptr=4096)), 2
    assert cuda.blocks_at_once(kernel, 128, 1000) == 264
    assert (calls, kernel.max_dynamic_shared_size_bytes) == ([(4096, 128, 1000)], 1000)
    blocks = 0
    with pytest.raises(LadderError, match="A block of 128 threads with 1000 bytes of shared memory does not fit"):
        cuda.blocks_at_once(kernel, 128, 1000)


def test_pages_are_locked_for_all_gpus_until_the_array_is_deleted(monkeypatch):
    calls = []

    def record(*arguments):
        calls.append(arguments)

    runtime = SimpleNamespace(hostRegister=record, hostUnregister=record)
    monkeypatch.setattr(cuda, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    array = np.empty(10)
    address, portable = array.ctypes.data, 1  # cudaHostRegisterPortable: for all GPUs
    cuda.lock_pages(array)
    assert calls == [(address, 80, portable)]  # 80 bytes
    del array
    assert calls[1:] == [(address,)]


@pytest.mark.gpu
@pytest.mark.clock
def test_the_energy_of_a_run_is_that_of_a_busy_gpu():
    spin = clock.spin_kernel()
    result = CUDA.energy(lambda: spin((1,), (1,), (10_000_000,)))  # ns
    if not result:
        pytest.skip("requires a GPU that counts its energy")
    assert 10 < result["joules"] / result["sustained"] < 1000  # watts


@pytest.mark.parametrize(
    # 3 is CUBLAS_STATUS_ALLOC_FAILED, 7 is CUBLAS_STATUS_INVALID_VALUE.
    ("status", "words"),
    [(3, r"\(cublasDgemm_v2 is out of memory\): 1 of 2 bytes are free"), (7, "with status 7")],
)
def test_a_failure_of_cublas_is_an_error(monkeypatch, status, words):
    runtime = SimpleNamespace(memGetInfo=lambda: (1, 2))
    monkeypatch.setattr(gpus, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(cublas, "library", lambda: {"cublasDgemm_v2": lambda: status})
    with pytest.raises(LadderError, match=words), CUDA.translate_errors():
        cublas.call("cublasDgemm_v2")


def test_other_errors_keep_their_traceback():
    with pytest.raises(RuntimeError, match="illegal address"), CUDA.translate_errors():
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal address was encountered")
