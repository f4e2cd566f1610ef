"""Quotas of control groups, in both versions of the interface, from synthetic folders."""

import pytest

from ladder.errors import LadderError
from ladder.machine import control_groups, cpus, description

# {version of the interface: lines of a process's file `cgroup`}; `{}` is the process's group.
CGROUP_LINES = {1: "4:memory:/a\n1:cpu,cpuacct:{}\n", 2: "0::{}\n"}


@pytest.fixture
def make_groups(tmp_path):
    """A function that makes a process's folder and mounted groups, {folder below the mount point: text of the quota}.

    The mount's options are those of an ordinary machine; the blanks in its folder's name test Linux's octal escapes.
    """

    def make(cgroup, groups=(), version=2, root="/"):
        mount = tmp_path / f"control groups {version}"
        for name, text in dict(groups).items():
            folder = mount / name
            folder.mkdir(parents=True, exist_ok=True)
            if version == 2:
                (folder / "cpu.max").write_text(text + "\n")
            else:
                for kind, value in zip(("quota", "period"), text.split(), strict=True):
                    (folder / f"cpu.cfs_{kind}_us").write_text(value + "\n")
        filesystem = "cgroup2 cgroup2 rw" if version == 2 else "cgroup cgroup rw,cpu,cpuacct"
        mount_point = str(mount).replace(" ", "\\040")
        with (tmp_path / "mountinfo").open("a") as file:
            file.write(f"30 23 0:27 / {tmp_path} rw,relatime shared:9 - tmpfs tmpfs rw,mode=755\n")
            file.write(f"31 30 0:28 {root} {mount_point} rw,relatime shared:9 master:1 - {filesystem}\n")
            file.write("32 30 0:29 / /nowhere rw,relatime - cgroup cgroup rw,cpuset\n")
        (tmp_path / "cgroup").write_text(cgroup)
        return tmp_path

    return make


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("groups", "quota"),
    [
        ({"a/b": "50000 100000"}, 0.5),
        ({"a": "150000 100000", "a/b": "-1 100000"}, 1.5),
        ({"": "250000 100000"}, 2.5),
        ({"": "400000 100000", "a": "100000 100000", "a/b": "300000 100000"}, 1.0),
        ({"a": "50000 25000", "a/b": "-1 100000"}, 2.0),
        ({"": "-1 100000", "a": "-1 100000", "a/b": "-1 100000"}, None),
        ({"beside": "10000 100000", "a/b/below": "10000 100000"}, None),
        ({}, None),
    ],
)
def test_the_strictest_quota_of_a_group_and_those_above_it_counts(make_groups, version, groups, quota):
    if version == 2:
        groups = {name: text.replace("-1", "max") for name, text in groups.items()}
    assert control_groups.quota(make_groups(CGROUP_LINES[version].format("/a/b"), groups, version)) == quota


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("/pod/one", "/pod/one/inner"),  # a container without a namespace of control groups
        ("/", "/inner"),  # a container with a namespace
        ("/..", "/../inner"),  # a mount from outside of the namespace
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_in_a_container_the_groups_that_are_mounted_count(make_groups, version, root, path):
    groups = {"": "70000 100000", "inner": "90000 100000"}
    assert control_groups.quota(make_groups(CGROUP_LINES[version].format(path), groups, version, root)) == 0.7


@pytest.mark.parametrize(
    ("root", "path"),
    [("/pod/one", "/other"), ("/pod/one", "/pod/oneself"), ("/pod/one", "/"), ("/", "/../other"), ("/..", "/other")],
)
def test_for_a_group_outside_of_the_mount_its_root_counts(make_groups, root, path):
    groups = {"": "70000 100000", "other": "10000 100000"}
    assert control_groups.quota(make_groups(CGROUP_LINES[2].format(path), groups, root=root)) == 0.7


def test_the_stricter_quota_of_both_versions_counts(make_groups):
    cgroup_text = CGROUP_LINES[1].format("/a") + CGROUP_LINES[2].format("/b")
    make_groups(cgroup_text, {"a": "300000 100000", "b": "10000 100000"}, version=1)
    assert control_groups.quota(make_groups(cgroup_text, {"b": "200000 100000"}, version=2)) == 2.0


@pytest.mark.parametrize("text", ["", "max", "0 0", "100000", "what 100000", "100000 0"])
def test_a_file_without_a_quota_limits_nothing(make_groups, text):
    path = make_groups(CGROUP_LINES[2].format("/a"), {"a": text})
    assert control_groups.quota(path) is None


def test_a_system_without_control_groups_has_no_quota(tmp_path):
    assert control_groups.quota(tmp_path) is None


@pytest.mark.parametrize(
    ("quota", "cores"),
    [(None, 4), (0.5, 1), (1.0, 1), (1.5, 1), (2.0, 2), (2.999, 2), (9.0, 4)],
)
def test_a_quota_is_rounded_down_to_at_least_one_core_and_more_threads_are_refused(monkeypatch, quota, cores):
    """The process may use four CPUs; the machine's label contains the number of usable cores."""
    monkeypatch.setattr(control_groups, "quota", lambda: quota)
    monkeypatch.setattr(cpus.os, "sched_getaffinity", lambda process: {0, 1, 2, 3})
    assert cpus.cores() == cores
    assert description.label().endswith(f"-{cores}c")
    for threads in range(1, 5):
        if quota is None or threads <= quota:
            cpus.require_quota(threads)
        else:
            used = "1 CPU" if threads == 1 else f"{threads} CPUs"
            with pytest.raises(LadderError, match=rf"uses {used}, .* has a quota of {quota:.3g}: .* throttled"):
                cpus.require_quota(threads)


def test_allocations_of_different_sizes_on_one_node_have_different_labels(monkeypatch):
    monkeypatch.setattr(control_groups, "quota", lambda: None)
    labels = set()
    for count in (1, 2, 64):
        monkeypatch.setattr(cpus.os, "sched_getaffinity", lambda process, count=count: set(range(count)))
        labels.add(description.label())
    assert len(labels) == 3
