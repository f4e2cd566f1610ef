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


@pytest.mark.parametrize(
    ("told", "state"),
    [
        (
            "1980, 3201, 41, 312.55, 0x0000000000000004",
            {"clock": 1980, "memory_clock": 3201, "temperature": 41, "power": 312.55, "reasons": ["sw_power_cap"]},
        ),
        (
            "345, 2619, 31, [N/A], 0x0000000000000000",
            {"clock": 345, "memory_clock": 2619, "temperature": 31, "reasons": []},
        ),
        ("[N/A], [N/A], 31, [N/A], [N/A]", {"temperature": 31}),
        ('Field "clocks_event_reasons.active" is not a valid field to query.', {}),
        ("", {}),
    ],
)
def test_a_card_is_asked_by_its_uuid_and_may_tell_less(told, state, tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncase $1 in --id=GPU-7) echo '{told}';; *) exit 6;; esac\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert nvidia.state("GPU-7") == state
    assert nvidia.state("GPU-8") == {}
    assert description.clocks("GPU-7")["gpu"] == state


def test_without_a_card_there_are_the_clocks_of_the_cpus_alone():
    assert set(description.clocks()) <= {"lowest", "highest"}


def test_a_record_may_hold_a_cards_state_and_nothing_else_there(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    case = Case("gemm", "blas", workloads.complete("gemm", {"m": 17, "n": 5, "k": 9}), {"threads": 1})
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
