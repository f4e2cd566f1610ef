"""What the machine tells of itself, and what is made of a card that tells less."""

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
def test_reasons_of_a_clock_are_words(mask, words):
    assert nvidia.reasons(mask) == words


def test_what_throttles_is_among_the_reasons():
    assert set(nvidia.REASONS.values()) > nvidia.THROTTLING


def test_a_cards_state_has_what_it_reports(cards):
    cards(2, clock=1980, memory_clock=3201, temperature=41, power=312550, reasons=4, energy=7500)
    card = nvidia.gpus()[1]["uuid"]
    state = {"clock": 1980, "memory_clock": 3201, "temperature": 41, "power": 312.55, "reasons": ["sw_power_cap"]}
    assert nvidia.state(card) == description.clocks(card)["gpu"] == state
    assert nvidia.energy(card) == 7.5
    assert nvidia.state("GPU-of-another-machine") == {}
    cards(2, temperature=31, reasons=0)
    assert nvidia.state(card) == {"temperature": 31, "reasons": []}
    assert nvidia.energy(card) is None


def test_a_card_is_known_by_its_place_on_the_bus(cards):
    cards(2)
    assert nvidia.uuid_at("0000:01:00.0") == nvidia.gpus()[1]["uuid"]
    assert nvidia.uuid_at("0000:02:00.0") is None
    cards(0)
    assert nvidia.uuid_at("0000:00:00.0") is None


@pytest.mark.parametrize(
    ("visible", "found"), [(None, "012"), ("", ""), ("2,0", "02"), ("GPU-00000000-0000-0000-0000-000000000001", "1")]
)
def test_the_cards_are_those_that_this_process_may_use(cards, monkeypatch, visible, found):
    cards(3)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [card["uuid"][-1] for card in nvidia.gpus()] == list(found)
    for card in nvidia.gpus():
        del card["uuid"]
        assert card == {"name": "No card", "memory": "100 MiB", "driver": "580.1", "capability": "9.0"}


def test_a_machine_without_a_driver_has_no_cards(cards):
    cards(0)
    assert nvidia.gpus() == []
    assert (nvidia.state("GPU-7"), nvidia.energy("GPU-7")) == ({}, None)


def test_without_a_card_there_are_the_clocks_of_the_cpus_alone():
    assert set(description.clocks()) <= {"lowest", "highest"}


def test_a_record_may_hold_a_cards_state_and_nothing_else_there(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    case = Case("gemm", "blas", workloads.complete("gemm", {"m": 17, "n": 5, "k": 9}), {"threads": 1}, "warm")
    measure.measure(case, "record.json", configuration.protocol(PROTOCOL), "here")
    found = record.read("record.json")
    assert found["processes"][0]["state"] == {}
    assert set(found["clocks"]["after"]) <= {"lowest", "highest"}
    state = {"clock": 1980.0, "memory_clock": 3201.0, "temperature": 41.0, "power": 312.5, "reasons": ["sw_power_cap"]}
    found["processes"][0]["state"] = found["clocks"]["after"]["gpu"] = state
    record.require_valid(found, "it")
    for spoilt in ({"clock": "1980"}, {"reasons": "none"}, {"fan": 30}):
        other = copy.deepcopy(found)
        other["clocks"]["after"]["gpu"] = state | spoilt
        with pytest.raises(LadderError, match="clocks/after/gpu"):
            record.require_valid(other, "it")
