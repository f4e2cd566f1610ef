"""The conditions under which a process runs, from synthetic files of /proc and /sys."""

import resource

import pytest

from ladder.machine import conditions

FILES = {
    "sys/devices/system/cpu/smt/active": "1\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/self/status": "Name:\tpython\nMems_allowed_list:\t0-1\n",
    "proc/self/cgroup": "0::/\n",
}


@pytest.fixture
def root(tmp_path):
    """A folder with FILES and a control group whose quota is 1.5 CPUs, in place of the root of the file system."""
    for name, text in FILES.items() | {("sys/fs/cgroup/cpu.max", "150000 100000\n")}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    mount = f"31 23 0:28 / {tmp_path}/sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(mount)
    return tmp_path


def test_conditions_have_what_linux_reports_and_nothing_else(root):
    facts = conditions.of_process([1, 2], root)
    expected = {"smt/active": "1", "frequency/governor": "performance", "intel_pstate/no_turbo": "1"}
    expected |= {"transparent_hugepage/enabled": "madvise", "randomize_va_space": "2", "numa_balancing": "1"}
    expected |= {"Mems_allowed_list": "0-1", "quota": 1.5}
    of_this_process = ("scheduler/", "limit/", "blas/", "numpy/", "numba/", "torch/")
    assert {fact: value for fact, value in facts.items() if not fact.startswith(of_this_process)} == expected
    assert conditions.of_process([0, 1], root)["frequency/governor"] == "performance, powersave"


def test_the_kernels_of_blas_and_the_vectors_of_numpy_and_numba_are_conditions():
    import numba

    facts = conditions.of_process([0])
    families = {value for fact, value in facts.items() if fact.startswith("blas/") and fact.endswith("/architecture")}
    assert families
    assert facts["numba/optimisation"] == int(numba.config.OPT)
    assert {"numpy/vectors", "numba/cpu", "numba/vectors", "scheduler/nice", "limit/stack"} <= set(facts)


@pytest.mark.parametrize(("soft", "expected"), [(8 * 2**20, 8 * 2**20), (resource.RLIM_INFINITY, "unlimited")])
def test_a_limit_is_that_of_the_process_in_bytes(monkeypatch, root, soft, expected):
    monkeypatch.setattr(conditions.resource, "getrlimit", lambda kind: (soft, resource.RLIM_INFINITY))
    assert conditions.of_process([0], root)["limit/stack"] == expected
