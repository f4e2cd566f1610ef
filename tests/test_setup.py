"""The set-up script on machines that lack something; stand-ins for the package tools and for pip keep notes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = "workflow/scripts/setup.sh"
TOOLS = ["sh", "dirname", "cat", "flock", "xargs", "echo", "head", "rm", "mv", "sha256sum"]
PIP = """
import pathlib, sys
with open("pip.log", "a") as log:
    print(*sys.argv[1:], file=log)
sys.exit(pathlib.Path("offline").exists())
"""


class Machine:
    """A copy of what the script reads, a PATH with nothing on it but what a test puts there, and a plain user."""

    def __init__(self, folder):
        self.folder = folder
        for name in (SCRIPT, "requirements.txt", "requirements-gpu.txt", "pyproject.toml"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        (folder / "pip").mkdir()
        (folder / "pip/__init__.py").touch()
        (folder / "pip/__main__.py").write_text(PIP)
        (folder / "bin").mkdir()
        for name in TOOLS:
            (folder / "bin" / name).symlink_to(shutil.which(name))
        self.command("id", "echo 1000")
        self.command("latexmk")
        self.command("kpsewhich")
        # An environment needs no pip of its own beside the stand-in, and is made ten times as fast.
        self.command("python3", f'[ "$2" != venv ] || set -- "$@" --without-pip\nexec {sys.executable} "$@"')

    def command(self, name, body="true"):
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def setup(self, *arguments, python="python3"):
        return subprocess.run(
            [self.folder / SCRIPT, *arguments],
            env={"PATH": str(self.folder / "bin"), "PYTHON": python, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
        )

    def calls(self):
        """The arguments that pip was called with since the last question, a line a call."""
        log = self.folder / "pip.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def installations(self):
        """How often pip was called since the last question."""
        return len(self.calls())


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def refused(result):
    """The one sentence of a set-up that stopped."""
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("old", [True, False])
def test_old_or_absent_python_is_named(machine, old):
    if old:
        pretend = "import sys; sys.version_info = (3, 10, 99); exec(sys.argv[2])"
        machine.command("python3.10", f"exec {sys.executable} -c '{pretend}' \"$@\"")
    sentence = refused(machine.setup(python="python3.10"))
    assert "Python 3.11 or newer" in sentence
    assert "python3.10" in sentence


def test_missing_latex_is_one_command_for_a_plain_user_and_nothing_is_begun(machine):
    machine.command("kpsewhich", 'test "$2" != siunitx.sty')
    machine.command("apt-get", "echo only root may do this >&2; exit 100")
    sentence = refused(machine.setup("latex"))
    assert "sudo apt-get install --no-install-recommends texlive-science'" in sentence
    assert machine.installations() == 0
    assert not (machine.folder / ".venv").exists()


def test_latex_is_asked_for_only_where_it_is_needed(machine):
    (machine.folder / "bin/latexmk").unlink()
    assert machine.setup().returncode == 0
    assert "latexmk" in refused(machine.setup("latex"))


@pytest.mark.parametrize(("works", "code"), [(True, 0), (False, 1)])
def test_root_installs_what_is_missing_and_looks_whether_it_came(machine, works, code):
    (machine.folder / "bin/latexmk").unlink()
    machine.command("id", "echo 0")
    machine.command("dpkg")
    installed = machine.folder / ("bin" if works else "elsewhere") / "latexmk"
    installed.parent.mkdir(exist_ok=True)
    machine.command("apt-get", f'case "$*" in install*latexmk) >{installed}; /bin/chmod +x {installed};; esac')
    result = machine.setup("latex")
    assert result.returncode == code
    assert works or "latexmk: installed, but not found" in result.stderr


def test_second_set_up_does_nothing(machine):
    assert machine.setup("latex").returncode == 0
    assert machine.installations() == 2
    again = machine.setup("latex")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert machine.installations() == 0


def test_unfinished_environment_is_made_anew(machine):
    (machine.folder / "offline").touch()
    failed = machine.setup()
    assert failed.returncode == 1
    assert "could not be installed" in failed.stderr
    half = machine.folder / ".venv/half-installed"
    half.touch()
    (machine.folder / "offline").unlink()
    assert machine.setup().returncode == 0
    assert not half.exists()


def test_new_pins_are_installed_beside_what_a_user_added(machine):
    machine.setup()
    machine.installations()
    added = machine.folder / ".venv/added"
    added.touch()
    with (machine.folder / "requirements.txt").open("a") as pins:
        pins.write("# another pin\n")
    assert machine.setup().returncode == 0
    assert machine.installations() == 2
    assert added.exists()


def test_what_a_card_needs_is_installed_once_there_is_one(machine):
    machine.setup()
    assert machine.calls()[0] == "install --require-hashes -r requirements.txt"
    machine.command("nvidia-smi", "echo No devices were found; exit 6")
    machine.setup()
    assert machine.installations() == 0
    machine.command("nvidia-smi", "echo 'GPU 0: A card (UUID: GPU-1)'")
    said = machine.setup().stdout
    assert "requirements.txt requirements-gpu.txt" in said
    assert machine.calls()[0] == "install --require-hashes -r requirements.txt -r requirements-gpu.txt"
    machine.setup()
    assert machine.installations() == 0
    with (machine.folder / "requirements-gpu.txt").open("a") as pins:
        pins.write("# another pin\n")
    machine.setup()
    assert machine.installations() == 2


def test_what_a_card_needs_agrees_with_the_other_pins():
    pinned, more = (
        {line.rstrip(" \\") for line in (ROOT / name).read_text().splitlines() if "==" in line}
        for name in ("requirements.txt", "requirements-gpu.txt")
    )
    names = {line.split("==")[0] for line in pinned}
    assert {line for line in more if line.split("==")[0] in names} <= pinned
    assert {"cupy-cuda13x", "nvidia-cublas"} <= {line.split("==")[0] for line in more - pinned}


def test_moved_project_gets_a_new_environment(machine):
    machine.setup()
    moved = machine.folder.with_name("moved")
    shutil.copytree(machine.folder, moved, symlinks=True)
    (moved / ".venv/old").touch()
    machine.folder = moved
    machine.installations()
    assert machine.setup().returncode == 0
    assert machine.installations() == 2
    assert not (moved / ".venv/old").exists()


def test_pins_taken_back_after_a_failed_update_are_installed_again(machine):
    machine.setup()
    pins = machine.folder / "requirements.txt"
    before = pins.read_text()
    pins.write_text("")
    (machine.folder / "offline").touch()
    assert machine.setup().returncode == 1
    pins.write_text(before)
    (machine.folder / "offline").unlink()
    machine.installations()
    assert machine.setup().returncode == 0
    assert machine.installations() == 2
