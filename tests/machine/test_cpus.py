"""The properties of the CPUs in lscpu's format, from synthetic files of /proc and /sys."""

import os
import platform
import re
import shutil
import subprocess

import pytest

from ladder.machine import caches, cpus, description

CPUINFO_TEXT = """processor\t: {cpu}
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) CPU           E5620  @ 2.40GHz
flags\t\t: fpu sse2 avx avx2 {flags}

"""


@pytest.fixture
def linux(monkeypatch, tmp_path):
    """The folder of a machine of two sockets, with two cores of two threads each, and two NUMA nodes."""
    for cpu in range(8):
        # Masks of CPUs: the threads of a core are 4 apart, and a socket has the CPUs 0, 1, 4, 5 or the other four.
        shared = {"thread_siblings": 0x11 << cpu % 4, "core_siblings": 0x33 << 2 * (cpu % 4 // 2)}
        for name, mask in shared.items():
            path = tmp_path / f"cpu{cpu}/topology/{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"00000000,{mask:08x}\n")
        for index, (level, kind, size, sharing_groups) in enumerate(
            [
                (1, "Data", "48K", 4),
                (1, "Instruction", "32K", 4),
                (2, "Unified", "1280K", 4),
                (3, "Unified", "33792K", 2),
            ]
        ):
            folder = tmp_path / f"cpu{cpu}/cache/index{index}"
            folder.mkdir(parents=True)
            # The text need only be the same for the CPUs that share the cache: of `sharing_groups` groups, this CPU's.
            values = {"level": level, "type": kind, "size": size, "shared_cpu_list": f"of {cpu % sharing_groups}"}
            for name, value in values.items():
                (folder / name).write_text(f"{value}\n")
    for node in range(2):
        (tmp_path / f"node{node}").mkdir()
    cpuinfo_file = tmp_path / "cpuinfo"
    cpuinfo_file.write_text(CPUINFO_TEXT.format(cpu=0, flags="avx512f") + CPUINFO_TEXT.format(cpu=1, flags=""))
    monkeypatch.setattr(cpus, "CPUINFO", cpuinfo_file)
    monkeypatch.setattr(cpus, "NODES", tmp_path)
    monkeypatch.setattr(caches, "CPUS", tmp_path)
    caches.all_caches.cache_clear()
    yield tmp_path
    caches.all_caches.cache_clear()


def test_properties_are_those_of_lscpu(linux):
    assert cpus.cpu() == {
        "Model name": "Intel(R) Xeon(R) CPU           E5620  @ 2.40GHz",
        "Socket(s)": "2",
        "Core(s) per socket": "2",
        "Thread(s) per core": "2",
        "NUMA node(s)": "2",
        "L1d cache": "192 KiB (4 instances)",
        "L1i cache": "128 KiB (4 instances)",
        "L2 cache": "5 MiB (4 instances)",
        "L3 cache": "66 MiB (2 instances)",
        "Vector units": "avx512f",
    }


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (512, "512 B"),
        (1023 * 2**10, "1023 KiB"),
        (2**20, "1 MiB"),
        (1280 * 2**10, "1.3 MiB"),  # 1.25 is rounded up
        (1088 * 2**10, "1.1 MiB"),
        (1152 * 2**20, "1.1 GiB"),
    ],
)
def test_sizes_are_written_as_lscpu_writes_them(size, text):
    assert cpus.in_binary_units(size) == text


@pytest.mark.skipif(
    not shutil.which("lscpu") or platform.machine() != "x86_64", reason="requires x86-64 with util-linux"
)
def test_properties_agree_with_lscpu_on_this_machine():
    printed = subprocess.run(["lscpu"], env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True).stdout
    properties = cpus.cpu()
    for name in ("Model name", "Socket(s)", "Core(s) per socket", "Thread(s) per core", "NUMA node(s)"):
        line = re.search(rf"^{re.escape(name)}:\s+(.*)", printed, re.MULTILINE)
        assert properties[name] == (line[1] if line else "unknown")


# A program that prints the model's name as lscpu does in some languages and, with other lines, in the C locale.
LSCPU = """#!/bin/sh
case "${{LANGUAGE:-${{LC_ALL:-${{LC_MESSAGES:-$LANG}}}}}}" in
    de*) echo "Modellname: {model}" ;;
    fr*) echo "Nom de modèle : {model}" ;;
    ja*) printf '\\223\\372: {model}\\n' ;;
    *) printf 'CPU op-mode(s): 64-bit\\nModel name:   {model}\\n  Model: 1\\n' ;;
esac
"""
LANGUAGES = [{}, {"LANG": "de_DE.UTF-8"}, {"LC_ALL": "fr_FR.UTF-8"}, {"LC_MESSAGES": "ja_JP.eucJP"}]
LANGUAGES += [{"LANG": "de_DE.UTF-8", "LANGUAGE": "de:fr"}, {"LANG": "C.UTF-8", "LANGUAGE": "fr"}]


@pytest.fixture
def install_program(monkeypatch, tmp_path):
    """A function that writes a script, by name and text, to a folder on the PATH."""

    def write(name, text):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return write


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("cpuinfo_text", "model", "label"),
    [
        (CPUINFO_TEXT, "lscpu is not used on x86", "intel-xeon-e5620"),
        ("processor\t: 0\nCPU implementer\t: 0x41\nFeatures\t: fp asimd\n", "Neoverse-V2", "neoverse-v2"),
        ("", "Neoverse-V2", "neoverse-v2"),
        ("processor\t: 0\nmodel name\t: ARMv7 rev 4\nFeatures\t: neon\n", "Cortex-A72", "cortex-a72"),
    ],
)
def test_a_machine_has_the_same_label_in_every_language(
    linux, install_program, monkeypatch, language, cpuinfo_text, model, label
):
    (linux / "cpuinfo").write_text(cpuinfo_text.format(cpu=0, flags=""))
    install_program("lscpu", LSCPU.format(model=model))
    for name in ("LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in language.items():
        monkeypatch.setenv(name, value)
    assert description.label() == f"{label}-{cpus.cores()}c"


def test_a_machine_that_reports_no_properties_is_unknown(linux, install_program):
    (linux / "cpuinfo").unlink()
    install_program("lscpu", "#!/bin/sh\nexit 1\n")
    assert cpus.cpu()["Model name"] == cpus.cpu()["Vector units"] == "unknown"
    shutil.rmtree(linux / "cpu0")
    assert cpus.cpu()["Socket(s)"] == "2"
