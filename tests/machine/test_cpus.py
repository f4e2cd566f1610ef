"""The cores that a plan may use."""

import pytest

from ladder.machine import cpus


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("200000 100000", 2),
        ("250000 100000", 2),
        ("50000 100000", 1),
        ("900000 100000", 4),
        ("max 100000", 4),
        (None, 4),
    ],
)
def test_a_quota_limits_the_cores(tmp_path, monkeypatch, quota, cores):
    """Of a process that may use four CPUs."""
    path = tmp_path / "cpu.max"
    if quota:
        path.write_text(f"{quota}\n")
    monkeypatch.setattr(cpus, "Path", lambda name: path)
    monkeypatch.setattr(cpus.os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    assert cpus.cores() == cores
