"""The set-up scripts on machines with missing parts. Stand-ins replace Debian's tools and pip, which logs its calls."""

import fcntl
import hashlib
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import packaging
import pytest
from packaging.tags import platform_tags

from conftest import ROOT

PYTHON = shlex.quote(sys.executable)
SETUP_SCRIPT, WHEELHOUSE_SCRIPT = "workflow/scripts/setup.sh", "workflow/scripts/wheelhouse.sh"
CALLS_OF_SETUP = 2  # of pip: one installs the pinned packages, the other the package `ladder`
# The programs of this machine that the scripts may call.
TOOLS = [
    "sh",
    "dirname",
    "cat",
    "date",
    "echo",
    "flock",
    "grep",
    "head",
    "ls",
    "mktemp",
    "mv",
    "readlink",
    "rm",
    "seq",
    "sha256sum",
    "xargs",
]
# A stand-in for pip: it logs its variables, its arguments and the pins, and fails if there is a file `offline`.
PIP = """
import os, pathlib, sys
pathlib.Path("pip-variables").write_text(" ".join(sorted(f"{k}={v}" for k, v in os.environ.items() if k[:4] == "PIP_")))
with open("pip.log", "a") as log:
    print(*sys.argv[1:], file=log)
if "-r" in sys.argv:
    pathlib.Path("pins.log").write_text(pathlib.Path(sys.argv[sys.argv.index("-r") + 1]).read_text())
sys.exit(pathlib.Path("offline").exists())
"""


class Machine:
    """A folder with copies of the scripts and their inputs, an ordinary user, and a PATH of TOOLS and stand-ins."""

    def __init__(self, folder):
        self.folder = folder
        for name in (SETUP_SCRIPT, WHEELHOUSE_SCRIPT, "requirements.txt", "requirements-gpu.txt", "pyproject.toml"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        (folder / "pip").mkdir()
        (folder / "pip/__init__.py").touch()
        (folder / "pip/__main__.py").write_text(PIP)
        (folder / "packaging").symlink_to(Path(packaging.__file__).parent)
        (folder / "bin").mkdir()
        for name in TOOLS:
            (folder / "bin" / name).symlink_to(shutil.which(name))
        self.command("id", "echo 1000")
        self.command("latexmk")
        self.command("kpsewhich")
        self.command("gcc")
        # `-m pip` finds the stand-in through PYTHONPATH: environments are made without their own pip, much faster.
        self.command("python3", f'[ "$2" != venv ] || set -- "$@" --without-pip\nexec {PYTHON} "$@"')

    def command(self, name, body="true"):
        """Put a command on the PATH: a shell script of this body."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def run(self, script, *arguments, before=(), **variables):
        return subprocess.run(
            [*before, self.folder / script, *arguments],
            env={"PATH": str(self.folder / "bin"), "PYTHON": "python3", "PYTHONPATH": str(self.folder)} | variables,
            capture_output=True,
            text=True,
            errors="replace",
        )

    def setup(self, *arguments, **variables):
        return self.run(SETUP_SCRIPT, *arguments, **variables)

    def wheelhouse(self, **variables):
        return self.run(WHEELHOUSE_SCRIPT, **variables)

    def calls(self):
        """The arguments of pip's calls since the last query, one line for each call."""
        log = self.folder / "pip.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def call_count(self):
        """The number of pip's calls since the last query."""
        return len(self.calls())

    def forget_calls(self):
        """Begin to count pip's calls again."""
        self.calls()


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def error_of(result):
    """The error sentence of a script that stopped."""
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("is_old", [True, False])
def test_an_old_or_absent_python_is_refused_by_name(machine, is_old):
    if is_old:
        program = "import sys; sys.version_info = (3, 10, 99); exec(sys.argv[2])"
        machine.command("python3.10", f"exec {PYTHON} -c '{program}' \"$@\"")
    sentence = error_of(machine.setup(PYTHON="python3.10"))
    assert "Python 3.11 or newer" in sentence
    assert "python3.10" in sentence


def test_a_folder_whose_name_is_not_utf_8_is_refused(tmp_path):
    machine = Machine(tmp_path / os.fsdecode(b"caf\xe9"))
    assert "isn't UTF-8" in error_of(machine.setup())
    assert machine.call_count() == 0


@pytest.mark.parametrize(("name", "sign"), [("in {braces}", "brace"), ("at 12:30", "colon")])
def test_a_folder_that_cannot_have_an_environment_is_refused_before_anything_is_begun(tmp_path, name, sign):
    machine = Machine(tmp_path / name)
    path = os.environ["PATH"]  # the machine's own would be split at a colon
    assert f"has a {sign} in its name" in error_of(machine.setup(PATH=path))
    assert machine.call_count() == 0


def test_missing_latex_is_one_command_for_a_plain_user_and_nothing_is_begun(machine):
    machine.command("kpsewhich", 'test "$2" != siunitx.sty')
    machine.command("apt-get", "echo only root may do this >&2; exit 100")
    sentence = error_of(machine.setup("latex"))
    assert "sudo apt-get install --no-install-recommends texlive-science'" in sentence
    assert machine.call_count() == 0
    assert not (machine.folder / ".venv").exists()


def test_latex_is_required_only_on_request(machine):
    (machine.folder / "bin/latexmk").unlink()
    assert machine.setup().returncode == 0
    assert "latexmk" in error_of(machine.setup("latex"))


@pytest.mark.parametrize(("is_found", "code"), [(True, 0), (False, 1)])
def test_root_installs_what_is_missing_and_checks_that_it_is_found(machine, is_found, code):
    (machine.folder / "bin/latexmk").unlink()
    machine.command("id", "echo 0")
    machine.command("dpkg")
    installed = machine.folder / ("bin" if is_found else "elsewhere") / "latexmk"
    installed.parent.mkdir(exist_ok=True)
    machine.command("apt-get", f'case "$*" in install*latexmk) >{installed}; /bin/chmod +x {installed};; esac')
    result = machine.setup("latex")
    assert result.returncode == code
    assert is_found or "latexmk: installed, but not found" in result.stderr


def test_a_missing_compiler_is_named_for_a_plain_user_and_stops_nothing(machine):
    (machine.folder / "bin/gcc").unlink()
    result = machine.setup("latex")
    assert result.returncode == 0
    assert "'sudo apt-get install gcc libc6-dev'" in result.stderr
    assert machine.call_count() == CALLS_OF_SETUP


def test_root_gets_a_compiler(machine):
    (machine.folder / "bin/gcc").unlink()
    machine.command("id", "echo 0")
    machine.command("dpkg")
    machine.command("apt-get", 'echo "$*" >> apt.log')
    assert machine.setup("latex").returncode == 0
    assert (machine.folder / "apt.log").read_text().splitlines()[-1].endswith("gcc libc6-dev")


def test_second_set_up_does_nothing(machine):
    assert machine.setup("latex").returncode == 0
    assert machine.call_count() == CALLS_OF_SETUP
    second_run = machine.setup("latex")
    assert (second_run.returncode, second_run.stdout, second_run.stderr) == (0, "", "")
    assert machine.call_count() == 0


def test_an_unfinished_environment_is_rebuilt(machine):
    (machine.folder / "offline").touch()
    failed = machine.setup()
    assert failed.returncode == 1
    assert "could not be installed" in failed.stderr
    half_installed = machine.folder / ".venv/half-installed"
    half_installed.touch()
    (machine.folder / "offline").unlink()
    assert machine.setup().returncode == 0
    assert not half_installed.exists()


def test_new_pins_are_installed_beside_what_a_user_added(machine):
    machine.setup()
    machine.forget_calls()
    added = machine.folder / ".venv/added"
    added.touch()
    with (machine.folder / "requirements.txt").open("a") as pins:
        pins.write("# another pin\n")
    assert machine.setup().returncode == 0
    assert machine.call_count() == CALLS_OF_SETUP
    assert added.exists()


def test_what_a_gpu_needs_is_installed_once_there_is_one(machine):
    machine.setup()
    assert machine.calls()[0] == "install --require-hashes -r requirements.txt"
    machine.command("nvidia-smi", "echo No devices were found; exit 6")
    machine.setup()
    assert machine.call_count() == 0
    machine.command("nvidia-smi", "echo 'GPU 0: A GPU (UUID: GPU-1)'")
    output = machine.setup().stdout
    assert "requirements.txt requirements-gpu.txt" in output
    assert machine.calls()[0] == "install --require-hashes -r requirements.txt -r requirements-gpu.txt"
    machine.setup()
    assert machine.call_count() == 0
    with (machine.folder / "requirements-gpu.txt").open("a") as pins:
        pins.write("# another pin\n")
    machine.setup()
    assert machine.call_count() == CALLS_OF_SETUP


def test_what_a_gpu_needs_agrees_with_the_other_pins():
    pins, gpu_pins = (
        {line.rstrip(" \\") for line in (ROOT / name).read_text().splitlines() if "==" in line}
        for name in ("requirements.txt", "requirements-gpu.txt")
    )
    names = {line.split("==")[0] for line in pins}
    assert {line for line in gpu_pins if line.split("==")[0] in names} <= pins
    assert {"cupy-cuda13x", "nvidia-cublas"} <= {line.split("==")[0] for line in gpu_pins - pins}


def test_moved_project_gets_a_new_environment(machine):
    machine.setup()
    moved = machine.folder.with_name("moved")
    shutil.copytree(machine.folder, moved, symlinks=True)
    (moved / ".venv/old").touch()
    machine.folder = moved
    machine.forget_calls()
    assert machine.setup().returncode == 0
    assert machine.call_count() == CALLS_OF_SETUP
    assert not (moved / ".venv/old").exists()


def test_an_environment_behind_a_link_is_not_emptied(machine, tmp_path):
    """It may belong to another copy of the project."""
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    (other / "bin/precious").touch()
    (machine.folder / ".venv").symlink_to(other)
    result = machine.setup()
    assert result.returncode != 0
    assert f".venv is a link to {other}" in result.stderr
    assert (other / "bin/precious").exists()


def test_pins_restored_after_a_failed_update_are_installed_again(machine):
    machine.setup()
    pins = machine.folder / "requirements.txt"
    before = pins.read_text()
    pins.write_text("")
    (machine.folder / "offline").touch()
    assert machine.setup().returncode == 1
    pins.write_text(before)
    (machine.folder / "offline").unlink()
    machine.forget_calls()
    assert machine.setup().returncode == 0
    assert machine.call_count() == CALLS_OF_SETUP


def test_what_a_gpu_needs_is_installed_on_request_and_stays(machine):
    machine.setup()
    machine.forget_calls()
    assert machine.setup(GPU="1").returncode == 0
    assert "-r requirements-gpu.txt" in machine.calls()[0]
    (packages,) = machine.folder.glob(".venv/lib/python3.*/site-packages")
    (packages / "cupy").mkdir()
    assert machine.setup().returncode == 0
    assert machine.call_count() == 0
    assert "GPU=yes" in error_of(machine.setup(GPU="yes"))


def test_packages_come_from_a_folder_alone(machine):
    sentence = error_of(machine.setup(WHEELHOUSE="my wheels"))
    assert "WHEELHOUSE=my wheels: there is no such folder" in sentence
    assert not (machine.folder / ".venv").exists()
    (machine.folder / "my wheels").mkdir()
    assert machine.setup(WHEELHOUSE="my wheels").returncode == 0
    call_for_pins, call_for_ladder = machine.calls()
    assert call_for_pins == "install --no-index --find-links my wheels --require-hashes -r requirements.txt"
    assert call_for_ladder == "install --no-index --find-links my wheels --no-deps --no-build-isolation --editable ."
    assert machine.setup(WHEELHOUSE="gone by now").returncode == 0
    assert machine.call_count() == 0


def test_folder_that_lacks_a_package_is_named(machine):
    (machine.folder / "wheels").mkdir()
    (machine.folder / "offline").touch()
    failed = machine.setup(WHEELHOUSE="wheels")
    assert failed.returncode == 1
    assert "'make wheelhouse' adds packages that wheels lacks" in failed.stderr


def test_packages_are_chosen_for_another_python_and_machine(machine):
    assert machine.wheelhouse(FOR="3.12", PLATFORM="manylinux_2_28_aarch64", GPU="1").returncode == 0
    _, call_for_pins, call_for_wheel = (call.split() for call in machine.calls())
    for call in (call_for_pins, call_for_wheel):
        assert call[call.index("--dest") + 1] == "wheelhouse"
        assert call[call.index("--python-version") + 1] == "3.12"
        platforms = {value for option, value in itertools.pairwise(call) if option == "--platform"}
        assert {"manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"} <= platforms
        assert "manylinux_2_29_aarch64" not in platforms
    downloaded = (machine.folder / "pins.log").read_text().splitlines()
    pins = "".join((ROOT / name).read_text() for name in ("requirements.txt", "requirements-gpu.txt"))
    hashes = {line.split("==")[0]: line.count(" --hash=sha256:") for line in downloaded}
    assert min(hashes.values()) >= 1
    assert {"cupy-cuda13x", "setuptools", "greenlet"} <= set(hashes)
    assert "colorama" not in hashes  # for Windows
    (numpy,) = {line.split(" ")[0] for line in downloaded if line.startswith("numpy==")}
    assert f"{numpy} ; python_full_version >= '3.12'" in pins


def test_packages_are_for_this_machine_by_default_and_without_those_of_a_gpu(machine):
    output = machine.wheelhouse(WHEELHOUSE="elsewhere").stdout
    assert "Python {}.{} on {}, into elsewhere".format(*sys.version_info[:2], next(platform_tags())) in output
    assert "cupy" not in (machine.folder / "pins.log").read_text()


@pytest.mark.parametrize(
    "variable",
    [
        "FOR=3.9",
        "FOR=python3.12",
        "PLATFORM=linux",
        "PLATFORM=manylinux_2_x_y",
        "PLATFORM=macosx_11_0_arm64",
        "GPU=yes",
    ],
)
def test_packages_for_no_known_machine_are_refused(machine, variable):
    sentence = error_of(machine.wheelhouse(**dict([variable.split("=")])))
    assert variable in sentence
    assert machine.call_count() == 0


def test_making_a_folder_of_packages_needs_the_network_and_leaves_no_tools(machine):
    (machine.folder / "offline").touch()
    tools = machine.folder / "tools"
    tools.mkdir()
    failed = machine.wheelhouse(TMPDIR=str(tools))
    assert failed.returncode == 1
    assert "'make wheelhouse' requires a network" in failed.stderr
    assert not list(tools.iterdir())


def wheel_of_installed(name, folder):
    """Build a wheel of an installed package; returns its path."""
    path = folder / f"{name}-{metadata.version(name)}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in metadata.files(name):
            if ".." not in file.parts and file.suffix != ".pyc":
                wheel.write(file.locate(), file)
    return path


def wheel_of_nothing(name, folder):
    """Build a wheel without a module; returns its path."""
    path = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        wheel.writestr(f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.dist-info/RECORD", "")
    return path


def source_archive(folder):
    """Build a source archive in place of connection-pool, the only package without a wheel; returns its path."""
    path = folder / "connection_pool-1.tar.gz"
    files = {
        "setup.py": "import setuptools\nsetuptools.setup(name='connection_pool', version='1', py_modules=['pool'])\n",
        "PKG-INFO": "Metadata-Version: 1.0\nName: connection_pool\nVersion: 1\n",
        "pool.py": "SIZE = 7\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"connection_pool-1/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
    return path


def network_isolation():
    """The command that runs another one without a network."""
    command = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("requires a system where unshare may take the network away")
    return [shutil.which("unshare"), *command[1:]]


@pytest.mark.exhaustive
def test_set_up_from_a_folder_without_network(machine, tmp_path_factory):
    """The real pip downloads from a folder in place of the network, and installs without a network."""
    isolation = network_isolation()
    shutil.rmtree(machine.folder / "pip")
    machine.command("python3", f'exec {PYTHON} "$@"')
    index = tmp_path_factory.mktemp("index")
    wheel_of_installed("pip", index)
    wheel_of_installed("packaging", index)
    wheel_of_nothing("wheel", index)
    pins = ""
    for path in (source_archive(index), wheel_of_installed("setuptools", index)):
        name, version = path.name.removesuffix(".tar.gz").split("-")[:2]
        pins += f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
    (machine.folder / "requirements.txt").write_text(pins)
    project = 'project = {name = "ladder", version = "0"}\ntool.setuptools.py-modules = []\n'
    (machine.folder / "pyproject.toml").write_text(project)
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}

    process = machine.wheelhouse(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index), **pip)
    assert process.returncode == 0, process.stderr
    shutil.rmtree(index)
    installed = machine.setup(before=isolation, WHEELHOUSE="wheelhouse", **pip)
    assert installed.returncode == 0, installed.stderr
    size = subprocess.check_output([machine.folder / ".venv/bin/python", "-c", "import pool; print(pool.SIZE)"])
    assert size == b"7\n"


def test_a_set_up_that_waits_says_for_which(machine):
    assert machine.run(SETUP_SCRIPT).returncode == 0
    (number,) = re.findall(r"process (\d+), running since \d\d:\d\d:\d\d", (machine.folder / ".venv.lock").read_text())
    with (machine.folder / SETUP_SCRIPT).open() as script:
        fcntl.flock(script, fcntl.LOCK_EX)
        line = [machine.folder / SETUP_SCRIPT]
        environment = {"PATH": str(machine.folder / "bin"), "PYTHON": "python3", "PYTHONPATH": str(machine.folder)}
        with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, text=True) as process:
            message = process.stderr.readline()
            fcntl.flock(script, fcntl.LOCK_UN)
    assert message.startswith(f"ladder: waiting for the set-up in this folder by process {number}, running since ")
    assert process.returncode == 0


def test_variables_exported_for_other_projects_do_not_affect_the_set_up(machine, tmp_path_factory):
    other = tmp_path_factory.mktemp("clone")
    (other / "workflow/scripts").mkdir(parents=True)
    variables = {
        "PATH": str(machine.folder / "bin"),
        "PYTHONPATH": str(machine.folder),
        "CDPATH": str(other),
        "PYTHONHOME": "/nowhere",
        "SOURCE_DATE_EPOCH": "nonsense",
        "PIP_TARGET": str(other),
        "PIP_DRY_RUN": "1",
        "PIP_USER": "1",
        "PIP_INDEX_URL": "https://mirror.example",
    }
    process = subprocess.run([SETUP_SCRIPT], cwd=machine.folder, env=variables, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert (machine.folder / ".venv/.installed").exists()
    assert not (other / ".venv").exists()
    pip_variables = (machine.folder / "pip-variables").read_text().split()
    assert pip_variables == ["PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_INDEX_URL=https://mirror.example", "PIP_USER=0"]


def test_a_clone_has_the_same_bytes_whatever_the_settings_of_git(tmp_path):
    for name in (".gitattributes", SETUP_SCRIPT, "Snakefile"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    git = ["git", "-c", "core.autocrlf=true", "-c", "user.name=a", "-c", "user.email=a@b"]
    for line in ("init -q", "add .", "commit -q -m one", "rm -q -r .", "reset -q --hard"):
        subprocess.run([*git, *line.split()], cwd=tmp_path, check=True, capture_output=True)
    for name in (SETUP_SCRIPT, "Snakefile"):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
