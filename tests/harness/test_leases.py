"""Exclusive use of the machine and of GPUs by timed cases."""

import contextlib
import fcntl
from types import SimpleNamespace

import pytest

from ladder import devices
from ladder.__main__ import main
from ladder.cuda import gpus
from ladder.harness import comparison, leases, measure, profiling, ranking_session, turns
from ladder.harness.case_arguments import cases_of
from ladder.records import locks


@pytest.fixture
def device(monkeypatch, tmp_path):
    """A function that creates a stand-in for a device; a stand-in for a case has it as its attribute `device`."""
    monkeypatch.setattr(devices, "of", lambda case: case.device)

    def create(shares_machine, lease=lambda count: contextlib.nullcontext({})):
        return SimpleNamespace(SHARES_MACHINE=shares_machine, lease=lease)

    return create


@pytest.mark.parametrize(
    ("devices_share", "is_shared"), [([True, True], True), ([True, False], False), ([False], False)]
)
def test_the_machine_is_shared_only_if_every_device_shares_it(device, devices_share, is_shared):
    context = contextlib.nullcontext() if is_shared else pytest.raises(BlockingIOError)
    cases = [SimpleNamespace(device=device(shares)) for shares in devices_share]
    (descriptor,) = locks.open_machine_lock("timing")
    with leases.hold_machine(*cases), context:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_the_machine_is_shared_if_the_protocol_says_so(device):
    (descriptor,) = locks.open_machine_lock("timing")
    with leases.hold_machine(SimpleNamespace(device=device(False)), shared=True):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    ("device", "is_shared"), [("host", False), ("mpi", False), ("offload", False), ("cuda", True), ("mpi_cuda", False)]
)
def test_only_a_case_on_one_gpu_shares_the_machine(monkeypatch, device, is_shared):
    """Work and messages of the host use its cores and memory, which would disturb other timings."""
    monkeypatch.setattr(devices, "of", devices.load)
    with leases.hold_machine(device), pytest.raises(BlockingIOError) if not is_shared else contextlib.nullcontext():
        (descriptor,) = locks.open_machine_lock("timing")
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_cases_with_the_same_lease_hold_the_largest_number_once(device, monkeypatch):
    events = []
    monkeypatch.setattr(leases.traits, "gpus", lambda case: case.gpus)

    @contextlib.contextmanager
    def lease_gpus(count):
        events.append(count)
        yield {"GPUS": str(count)}
        events.append("released")

    def lease_others(count):
        return contextlib.nullcontext({"OTHERS": str(count)})

    cases = [
        SimpleNamespace(device=device(True, lease), gpus=count)
        for lease, count in ((lease_gpus, 2), (lease_others, 0), (lease_gpus, 4), (lease_gpus, 1))
    ]
    with leases.lease_devices(*cases) as variables:
        assert (variables, events) == ({"GPUS": "4", "OTHERS": "1"}, [4])  # at least 1 is leased
    assert events == [4, "released"]


SIZES = "form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1,cache=cold"
NAIVE_SLUG = f"{SIZES},block=16"
# A command line of each verb that times cases, with a case on a GPU.
VERBS = [
    ["measure", "gemm", "cuda_naive", NAIVE_SLUG, "--out", "record.json"],
    ["compare", f"gemm/blas/{SIZES},threads=1", f"gemm/cuda_naive/{NAIVE_SLUG}"],
    ["run", "gemm/cuda_naive", "m=17", "n=5", "k=9"],
    ["profile", "gemm/cuda_naive", "m=17", "n=5", "k=9"],
]


@pytest.fixture
def without_gpu(monkeypatch, tmp_path):
    """A machine without a GPU, whose lock must not be waited for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gpus.nvidia, "gpus", list)
    for module in (comparison, measure, profiling, ranking_session, turns):
        monkeypatch.setattr(module, "hold_machine", lambda *cases, **options: pytest.fail("waits for the machine"))


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
@pytest.mark.usefixtures("without_gpu")
def test_a_case_that_lacks_a_gpu_is_refused_before_the_wait_for_the_machine(words, capsys):
    with pytest.raises(SystemExit) as exit_status:
        main(words)
    assert exit_status.value.code == 1
    assert "There is no GPU to work on: `nvidia-smi` lists none." in capsys.readouterr().err


@pytest.mark.usefixtures("without_gpu")
def test_a_campaign_that_lacks_a_gpu_is_refused_before_the_wait_for_the_machine():
    jobs = dict.fromkeys(cases_of(["gemm/blas", "gemm/cuda_naive", "m=17", "n=5", "k=9"]), ({}, None))
    with pytest.raises(turns.LadderError, match="no GPU to work on"):
        turns.measure_in_turns(jobs, {"processes": 1}, "a-campaign", "here", "records")


def test_too_few_gpus_are_refused_too(monkeypatch):
    monkeypatch.setattr(gpus.nvidia, "gpus", lambda: [{"uuid": "GPU-a"}])
    with pytest.raises(turns.LadderError, match="needs 2 GPUs, but `nvidia-smi` lists 1"):
        devices.load("cuda").require_available(2)
