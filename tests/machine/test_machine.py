"""The description of the machine, its clocks and its GPUs, some of which report less than others."""

import copy

import pytest

from conftest import PROTOCOL
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness import measure
from ladder.machine import description, nvidia
from ladder.planning import configuration
from ladder.records import record
from ladder.records.case import Case


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (0x0, []),
        (0x1, ["gpu_idle"]),
        (0x4, ["sw_power_cap"]),
        (0x68, ["hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown"]),
        (0x1FF, list(nvidia.REASONS.values())),
        (0x804, ["sw_power_cap", "0x800"]),
    ],
)
def test_reasons_for_a_clock_are_names_of_bits(mask, words):
    assert nvidia.reasons(mask) == words


def test_throttling_reasons_are_reasons():
    assert set(nvidia.REASONS.values()) > nvidia.THROTTLING


def test_a_gpus_state_has_what_it_reports(fake_gpus):
    fake_gpus(2, clock=1980, memory_clock=3201, temperature=41, power=312550, reasons=4, energy=7500)
    gpu = nvidia.gpus()[1]["uuid"]
    state = {"clock": 1980, "memory_clock": 3201, "temperature": 41, "power": 312.55, "reasons": ["sw_power_cap"]}
    assert nvidia.state(gpu) == description.clocks(gpu)["gpu"] == state
    assert nvidia.energy(gpu) == 7.5
    assert nvidia.state("GPU-of-another-machine") == {}
    fake_gpus(2, temperature=31, reasons=0)
    assert nvidia.state(gpu) == {"temperature": 31, "reasons": []}
    assert nvidia.energy(gpu) is None


def test_a_gpu_is_identified_by_its_address_on_the_bus(fake_gpus):
    fake_gpus(2)
    assert nvidia.uuid_at("0000:01:00.0") == nvidia.gpus()[1]["uuid"]
    assert nvidia.uuid_at("0000:02:00.0") is None
    fake_gpus(0)
    assert nvidia.uuid_at("0000:00:00.0") is None


def test_the_gpus_are_those_that_this_process_may_use(fake_gpus, monkeypatch):
    fake_gpus(3)
    for visible, expected in (
        (None, "012"),
        ("", ""),
        ("2,0", "20"),
        ("GPU-00000000-0000-0000-0000-000000000001", "1"),
    ):
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert [gpu["uuid"][-1] for gpu in nvidia.gpus()] == list(expected)
    for gpu in nvidia.gpus():
        del gpu["uuid"]
        assert gpu == {"name": "No GPU", "memory": "100 MiB", "driver": "580.1", "capability": "9.0"}


A, B = "GPU-68cfe46b-3647-42dc-337f-afe27d4402ac", "GPU-56d1cc52-0ceb-9662-8984-4211a5478206"
# (GPUs, values): how the driver of the GPUs A and B interprets values of CUDA_VISIBLE_DEVICES.
GPUS_AND_VALUES = [
    ("AB", ["0,1", "0, 1", " 0,1", "0 ,1", "0\t,1", "0,\n1", f"{A},{B}", f"{A} ,{B}", "GPU-6,GPU-5"]),
    ("BA", ["1,0", "1a,0x", "1gpu,0gpu", "GPU-56d1cc52,GPU-68cfe46b", "GPU-56-d1cc-520ceb,GPU--6"]),
    ("B", ["01", "+1", "4294967297", "-4294967295", "1.5", "1a", "1e0", "1,,0", "1\r", "1,\u00a00", f"{B},0"]),
    ("A", ["-0", "0x1", "0;1", "0 1", "0-1", "9223372036854775808"]),
    ("A", [A, A[:12], f"GPU-{A[4:].upper()}", f"{A}x", f"{A};{B}", f"{A}0"]),
    # A word of the other kind, or one that matches no GPU, ends the list, even before a GPU that is listed twice.
    ("A", ["0,-1,1", "0,2,1", "0,5,0", "0,-1,0", "0,", "0,MIG-x", f"0,{B}", f"{A},1", f"{A},0", f"{A}, {B}"]),
    ("A", [f"{A},-1,{B}", f"{A},GPU-ffffffff,{B}"]),
    ("", ["", " ", ",0", "-1", "--1", "- 1", "+", "010", "all", "NoDevFiles", "\uff11", '"0"', "MIG-0,0"]),
    ("", ["99999999999,0", "18446744073709551617", "GPU-", "GPU-,0", "GPU-ffffffff,0", f" {A}", A.lower(), A[4:]]),
    ("", [f"{A[:12]} ", f"{A[:12]}z,{A}", "GPU-6.8"]),
    # A GPU that is listed twice.
    ("", ["0,0", "0,1,0", "0,1,1", "0,-0", "0x1,0", f"{A},{A}", f"{A},GPU-68cfe46b", f"{A},GPU-6,{B}"]),
]


@pytest.mark.parametrize(
    ("expected", "value"), [(expected, value) for expected, values in GPUS_AND_VALUES for value in values]
)
def test_cuda_visible_devices_is_read_as_cuda_reads_it(expected, value):
    gpus = {0: {"name": "H100", "uuid": A}, 1: {"name": "H100", "uuid": B}}
    assert nvidia.visible_gpus(gpus, value) == [{"A": gpus[0], "B": gpus[1]}[letter] for letter in expected]


def test_a_beginning_of_two_uuids_selects_no_gpu():
    gpus = {number: {"name": "H100", "uuid": f"GPU-6{number}"} for number in range(3)}
    assert nvidia.visible_gpus(gpus, "GPU-62,GPU-6,GPU-60") == [gpus[2]]


def test_numbers_of_different_gpus_require_the_order_of_the_bus(monkeypatch):
    gpus = {0: {"name": "T4", "uuid": A}, 1: {"name": "H100", "uuid": B}}
    with pytest.raises(LadderError, match=r"=1 names GPUs by numbers.* Set CUDA_DEVICE_ORDER=PCI_BUS_ID"):
        nvidia.visible_gpus(gpus, "1")
    assert nvidia.visible_gpus(gpus, "GPU-5") == [gpus[1]]
    assert nvidia.visible_gpus(gpus, "none") == []
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    assert nvidia.visible_gpus(gpus, "1") == [gpus[1]]


def test_a_machine_without_a_driver_has_no_gpus(fake_gpus):
    fake_gpus(0)
    assert nvidia.gpus() == []
    assert (nvidia.state("GPU-7"), nvidia.energy("GPU-7")) == ({}, None)


def test_without_a_gpu_only_the_cpus_have_clocks():
    assert set(description.clocks()) <= {"lowest", "highest"}


def test_the_clocks_of_the_cpus_are_the_lowest_and_the_highest_of_all(monkeypatch):
    for text, expected in (
        ("cpu MHz\t\t: 1200.5\ncache size\t: 9 KB\ncpu MHz\t\t: 3900.0\ncpu MHz\t\t: 2000\n", (1200.5, 3900.0)),
        ("Features\t: fp\n", None),  # as on ARM
    ):
        monkeypatch.setattr(description.Path, "read_text", lambda path, encoding, text=text: text)
        assert description.clocks() == (dict(zip(("lowest", "highest"), expected, strict=True)) if expected else {})


def test_a_record_accepts_a_gpus_state_and_refuses_anything_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = Case("gemm", "blas", workloads.complete("gemm", {"m": 17, "n": 5, "k": 9}), {"threads": 1}, "warm")
    measure.measure(case, "record.json", configuration.protocol(PROTOCOL), "here")
    measured = record.read("record.json")
    assert measured["processes"][0]["state"] == {}
    assert set(measured["clocks"]["after"]) <= {"lowest", "highest"}
    state = {"clock": 1980.0, "memory_clock": 3201.0, "temperature": 41.0, "power": 312.5, "reasons": ["sw_power_cap"]}
    measured["processes"][0]["state"] = measured["clocks"]["after"]["gpu"] = state
    record.require_valid(measured, "it")
    for invalid in ({"clock": "1980"}, {"reasons": "none"}, {"fan": 30}):
        changed = copy.deepcopy(measured)
        changed["clocks"]["after"]["gpu"] = state | invalid
        with pytest.raises(LadderError, match="clocks/after/gpu"):
            record.require_valid(changed, "it")
