"""The CPUs' caches: their reported sizes, and that every CPU's caches are flushed."""

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
def told(monkeypatch, tmp_path):
    """Let Linux report caches, {(cpu, index): (level, type, size, CPUs that share it)}, and the library none."""

    def tell(properties, library=lambda name: 0):
        for (cpu, index), values in properties.items():
            folder = tmp_path / f"cpu{cpu}/cache/index{index}"
            folder.mkdir(parents=True)
            for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
                (folder / name).write_text(f"{value}\n")
        monkeypatch.setattr(caches, "CPUS", tmp_path)
        monkeypatch.setattr(caches.os, "sysconf", library)
        caches.all_caches.cache_clear()

    yield tell
    caches.all_caches.cache_clear()


def of_four_cpus():
    """Two chiplets of two CPUs each, with 32 MiB for each chiplet and 1 MiB for each CPU."""
    properties = {}
    for cpu, shared in enumerate(["0-1", "0-1", "2-3", "2-3"]):
        properties[cpu, 0] = (1, "Data", "32K", cpu)
        properties[cpu, 1] = (1, "Instruction", "900M", cpu)
        properties[cpu, 2] = (2, "Unified", "1024K", cpu)
        properties[cpu, 3] = (3, "Unified", "32768K", shared)
    return properties


def test_a_shared_cache_counts_once_and_every_chiplets_counts(told):
    told(of_four_cpus())
    assert (caches.last_level(), caches.largest_l2()) == (64 * MIB, MIB)


def test_the_larger_word_on_the_last_level_counts(told):
    told(of_four_cpus(), {"SC_LEVEL2_CACHE_SIZE": MIB, "SC_LEVEL3_CACHE_SIZE": 320 * MIB}.get)
    assert caches.last_level() == 320 * MIB


def test_many_private_caches_may_be_the_largest_level(told):
    told({(cpu, 0): (2, "Unified", "2M", cpu) for cpu in range(64)} | {(0, 1): (3, "Unified", "100M", "0-63")})
    assert caches.last_level() == 128 * MIB


def unknown(name):
    raise ValueError("unrecognized configuration name")


@pytest.mark.parametrize("library", [lambda name: 0, lambda name: -1, unknown])
def test_a_machine_that_tells_nothing_has_usual_caches(told, library):
    told({}, library)
    assert (caches.last_level(), caches.largest_l2()) == (caches.DEFAULT_SHARED, caches.DEFAULT_L2)


def test_a_cache_of_which_not_all_is_told_is_left_out(told, tmp_path):
    told(of_four_cpus())
    (tmp_path / "cpu3/cache/index2/size").unlink()
    (tmp_path / "cpu2/cache/index3/size").unlink()
    (tmp_path / "cpu3/cache/index3/size").unlink()
    assert caches.last_level() == 32 * MIB


def written_by(monkeypatch, flush_of):
    """[(bytes, the writing thread's CPUs)] of every write of two flushes; no two of them write the same."""
    writes, values = [], []

    def buffer(size, dtype):
        def fill(value):
            writes.append((size * np.dtype(dtype).itemsize, os.sched_getaffinity(0)))
            values.append(value)

        return SimpleNamespace(fill=fill)

    monkeypatch.setattr(caches, "np", SimpleNamespace(zeros=buffer, uint8=np.uint8))
    flush = flush_of()
    flush()
    flush()
    assert len(set(values)) == 2
    return writes


def test_every_cpu_writes_twice_its_own_caches_and_then_the_caller_twice_the_shared_one(monkeypatch, told):
    told(of_four_cpus())
    cpus = sorted(os.sched_getaffinity(0))
    writes = written_by(monkeypatch, lambda: caches.flusher(cpus))
    once, again = writes[: len(cpus) + 1], writes[len(cpus) + 1 :]
    assert once[-1] == again[-1] == (128 * MIB, set(cpus)), "the caller, last"
    for some in (once, again):
        assert sorted(some[:-1], key=str) == sorted(((2 * MIB, {cpu}) for cpu in cpus), key=str)


def test_a_process_writes_its_part_of_the_shared_cache(monkeypatch, told):
    told(of_four_cpus())
    assert {size for size, _ in written_by(monkeypatch, lambda: caches.flusher([], 4))} == {32 * MIB}


@pytest.mark.parametrize("device", ["host", "mpi"])
def test_a_device_empties_the_caches_of_all_its_cpus(monkeypatch, told, device):
    """Of ranks, here one, all together."""
    told(of_four_cpus())
    monkeypatch.setattr(mpi, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value], rank=0))
    cpus = sorted(host.AFFINITY)
    writes = written_by(monkeypatch, devices.load(device).flusher)
    due = [(128 * MIB, set(cpus)), *((2 * MIB, {cpu}) for cpu in cpus)]
    for some in (writes[: len(due)], writes[len(due) :]):
        assert sorted(some, key=str) == sorted(due, key=str)


def test_ranks_empty_their_share_of_the_caches_of_their_node(monkeypatch):
    here = description.node()
    ranks = [(here, [0, 1, 2, 3]), ("elsewhere", [0, 1]), (here, [0, 1, 2, 3])]
    monkeypatch.setattr(mpi, "communicator", lambda: SimpleNamespace(allgather=lambda value: ranks, rank=2))
    monkeypatch.setattr(caches, "flusher", lambda *given: given)
    for module in (host, mpi):
        monkeypatch.setattr(module, "AFFINITY", {3, 1})
    assert devices.load("mpi").flusher() == ([1, 3], 2)
    assert devices.load("host").flusher() == ([1, 3],)


@pytest.mark.parametrize("device", ["cuda", "mpi_cuda", "offload"])
def test_a_card_has_twice_its_cache_written_anew_every_time(monkeypatch, device):
    writes = []

    def empty(size, dtype):
        return SimpleNamespace(fill=lambda value: writes.append((size * np.dtype(dtype).itemsize, value)))

    card = SimpleNamespace(attributes={"L2CacheSize": 50 * MIB})
    cupy = SimpleNamespace(empty=empty, cuda=SimpleNamespace(Device=lambda: card))
    monkeypatch.setattr(gpus, "load_cupy", lambda: cupy)
    flush = devices.load(device).flusher()
    assert writes == []
    for times in (1, 2, 3):
        flush()
        assert [size for size, _ in writes] == [100 * MIB] * times
    values = {value for _, value in writes}
    assert len(values) == 3, "what lies there already needn't be written"
    assert values <= set(range(256)), "a byte each"


@pytest.mark.parametrize(
    ("places", "shares"),
    [
        ([("a", [0, 1, 2, 3])], [[0, 1, 2, 3]]),
        # Unbound ranks share all CPUs; bound ones have their own; of two nodes each counts for itself.
        ([("a", [0, 1, 2, 3])] * 2, [[0, 2], [1, 3]]),
        ([("a", [0, 1]), ("a", [2, 3])], [[0, 1], [2, 3]]),
        ([("a", [0, 1]), ("b", [0, 1])], [[0, 1], [0, 1]]),
        ([("a", [0, 1]), ("a", [1, 2])], [[0], [1, 2]]),
        # More ranks than CPUs.
        ([("a", [5])] * 3, [[5], [], []]),
    ],
)
def test_ranks_of_a_node_share_its_cpus(places, shares):
    assert [share_of_cpus(places, rank) for rank in range(len(places))] == shares
