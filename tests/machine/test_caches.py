"""The CPUs' caches: their reported sizes, and flushes of the caches of all CPUs."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from ladder import devices
from ladder.cuda import gpus
from ladder.devices import host, mpi
from ladder.devices.mpi import share_of_cpus
from ladder.machine import caches, description

MIB = 2**20


@pytest.fixture
def report_caches(monkeypatch, tmp_path):
    """A function that sets the caches that Linux reports, {(cpu, index): (level, type, size, CPUs that share it)}.

    Its second argument, `library`, replaces the C library's `sysconf`, which by default reports none.
    """

    def report(properties, library=lambda name: 0):
        for (cpu, index), values in properties.items():
            folder = tmp_path / f"cpu{cpu}/cache/index{index}"
            folder.mkdir(parents=True)
            for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
                (folder / name).write_text(f"{value}\n")
        monkeypatch.setattr(caches, "CPUS", tmp_path)
        monkeypatch.setattr(caches.os, "sysconf", library)
        caches.all_caches.cache_clear()

    yield report
    caches.all_caches.cache_clear()


def four_cpus():
    """Two chiplets of two CPUs each, with 32 MiB for each chiplet and 1 MiB for each CPU."""
    properties = {}
    for cpu, shared in enumerate(["0-1", "0-1", "2-3", "2-3"]):
        properties[cpu, 0] = (1, "Data", "32K", cpu)
        properties[cpu, 1] = (1, "Instruction", "900M", cpu)  # large, to show that it is ignored
        properties[cpu, 2] = (2, "Unified", "1024K", cpu)
        properties[cpu, 3] = (3, "Unified", "32768K", shared)
    return properties


def test_a_shared_cache_counts_once_and_those_of_chiplets_add_up(report_caches):
    report_caches(four_cpus())
    assert (caches.last_level(), caches.largest_l2()) == (64 * MIB, MIB)


def test_the_larger_of_two_reported_sizes_counts(report_caches):
    report_caches(four_cpus(), {"SC_LEVEL2_CACHE_SIZE": MIB, "SC_LEVEL3_CACHE_SIZE": 320 * MIB}.get)
    assert caches.last_level() == 320 * MIB


def test_many_private_caches_may_be_the_largest_level(report_caches):
    # 64 L2 caches of 2 MiB, and an L3 cache of 100 MiB.
    report_caches({(cpu, 0): (2, "Unified", "2M", cpu) for cpu in range(64)} | {(0, 1): (3, "Unified", "100M", "0-63")})
    assert caches.last_level() == 128 * MIB


def raise_unknown_name(name):
    raise ValueError("unrecognized configuration name")


@pytest.mark.parametrize("library", [lambda name: 0, lambda name: -1, raise_unknown_name])
def test_a_machine_that_reports_no_caches_has_default_sizes(report_caches, library):
    report_caches({}, library)
    assert (caches.last_level(), caches.largest_l2()) == (caches.DEFAULT_LAST_LEVEL, caches.DEFAULT_L2)


def test_a_cache_with_missing_properties_is_ignored(report_caches, tmp_path):
    report_caches(four_cpus())
    (tmp_path / "cpu3/cache/index2/size").unlink()
    (tmp_path / "cpu2/cache/index3/size").unlink()
    (tmp_path / "cpu3/cache/index3/size").unlink()
    assert caches.last_level() == 32 * MIB


def record_writes(monkeypatch, make_flush):
    """Flush twice, with different values, and return [(bytes, CPUs of the writing thread)] of every write."""
    writes, values = [], []

    def buffer(size, dtype):
        def fill(value):
            writes.append((size * np.dtype(dtype).itemsize, os.sched_getaffinity(0)))
            values.append(value)

        return SimpleNamespace(fill=fill)

    monkeypatch.setattr(np, "zeros", buffer)
    flush = make_flush()
    flush()
    flush()
    assert len(set(values)) == 2
    return writes


def expected_writes(cpus):
    """The writes of a flush on `four_cpus`: each CPU's part, in any order, and the caller's, which is the last."""
    return [*((2 * MIB + 64 * MIB // len(cpus), {cpu}) for cpu in cpus), (64 * MIB, set(cpus))]


def test_every_cpu_writes_twice_its_l2_cache_and_all_twice_the_last_level(monkeypatch, report_caches):
    report_caches(four_cpus())
    cpus = sorted(os.sched_getaffinity(0))
    writes = record_writes(monkeypatch, lambda: caches.flusher(cpus))
    first, second = writes[: len(cpus) + 1], writes[len(cpus) + 1 :]
    for writes_of_flush in (first, second):
        assert writes_of_flush[-1] == expected_writes(cpus)[-1], "the caller, last"
        assert sorted(writes_of_flush, key=str) == sorted(expected_writes(cpus), key=str)


def test_the_caller_writes_all_of_a_small_last_level(monkeypatch, report_caches):
    report_caches({(0, 0): (2, "Unified", "1024K", 0), (0, 1): (3, "Unified", "32768K", "0")})
    writes = record_writes(monkeypatch, lambda: caches.flusher([0]))
    assert [size for size, _ in writes] == [2 * MIB, 64 * MIB] * 2


def test_a_process_writes_its_part_of_the_shared_cache(monkeypatch, report_caches):
    report_caches(four_cpus())
    assert {size for size, _ in record_writes(monkeypatch, lambda: caches.flusher([], 4))} == {32 * MIB}


@pytest.mark.parametrize("device", ["host", "mpi"])
def test_a_device_empties_the_caches_of_all_its_cpus(monkeypatch, report_caches, device):
    """With `mpi`, the ranks, here only one, empty them together."""
    report_caches(four_cpus())
    monkeypatch.setattr(mpi, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value], rank=0))
    cpus = sorted(host.AFFINITY)
    writes = record_writes(monkeypatch, devices.load(device).flusher)
    expected = expected_writes(cpus)
    for writes_of_flush in (writes[: len(expected)], writes[len(expected) :]):
        assert sorted(writes_of_flush, key=str) == sorted(expected, key=str)


def test_ranks_empty_their_share_of_the_caches_of_their_node(monkeypatch):
    this_node = description.node()
    ranks = [(this_node, [0, 1, 2, 3]), ("elsewhere", [0, 1]), (this_node, [0, 1, 2, 3])]
    monkeypatch.setattr(mpi, "communicator", lambda: SimpleNamespace(allgather=lambda value: ranks, rank=2))
    monkeypatch.setattr(caches, "flusher", lambda *arguments: arguments)
    for module in (host, mpi):
        monkeypatch.setattr(module, "AFFINITY", {3, 1})
    assert devices.load("mpi").flusher() == ([1, 3], 2)
    assert devices.load("host").flusher() == ([1, 3],)


@pytest.mark.parametrize("device", ["cuda", "mpi_cuda", "offload"])
def test_every_flush_of_a_gpu_fills_twice_its_cache_size_with_a_new_value(monkeypatch, device):
    writes = []

    def make_buffer(size, dtype):
        return SimpleNamespace(fill=lambda value: writes.append((size * np.dtype(dtype).itemsize, value)))

    gpu = SimpleNamespace(attributes={"L2CacheSize": 50 * MIB})
    cupy = SimpleNamespace(empty=make_buffer, cuda=SimpleNamespace(Device=lambda: gpu))
    monkeypatch.setattr(gpus, "load_cupy", lambda: cupy)
    flush = devices.load(device).flusher()
    assert writes == []
    for flushes in (1, 2, 3):
        flush()
        assert [size for size, _ in writes] == [100 * MIB] * flushes
    values = {value for _, value in writes}
    assert len(values) == 3, "writing the same value again might be skipped"
    assert values <= set(range(256)), "a byte each"


@pytest.mark.parametrize(
    ("ranks", "shares"),
    [
        ([("a", [0, 1, 2, 3])], [[0, 1, 2, 3]]),
        # Unbound ranks share all CPUs, bound ranks have separate ones, and each of two nodes counts separately.
        ([("a", [0, 1, 2, 3])] * 2, [[0, 2], [1, 3]]),
        ([("a", [0, 1]), ("a", [2, 3])], [[0, 1], [2, 3]]),
        ([("a", [0, 1]), ("b", [0, 1])], [[0, 1], [0, 1]]),
        ([("a", [0, 1]), ("a", [1, 2])], [[0], [1, 2]]),
        # More ranks than CPUs.
        ([("a", [5])] * 3, [[5], [], []]),
    ],
)
def test_ranks_of_a_node_share_its_cpus(ranks, shares):
    assert [share_of_cpus(ranks, rank) for rank in range(len(ranks))] == shares
