"""The study of every cell of the matrix, its description there, and how that differs from plain surroundings."""

import fcntl
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from conftest import PROTOCOL, ROOT, Study
from faults import small_study
from ladder.machine import programs
from surroundings import probe

PROBE = Path(probe.__file__)
FIGURE = "mlp_learning"
VARIANTS = ("openmp", "c_openmp", "blas", "on_ranks")
# What is the same in every surrounding.
INVARIANT_KEYS = ("label", "cpu", "cores", "plan", "libraries", "origin")
# Samples are within noise up to this factor: the fastest of five, so that work beside them matters little.
NOISE_FACTOR = 4
PROBE_TIMEOUT = 600  # seconds for a probe, beyond which it hangs
GIT = ("git", "-c", "user.name=somebody", "-c", "user.email=somebody@localhost")


@dataclass
class Answer:
    """What a probe printed: an answer, or a sentence instead of one."""

    status: int
    text: str  # on standard error
    description: dict = field(default_factory=dict)

    def require_sentence(self):
        """Fail unless a sentence ended the probe. A traceback isn't one."""
        assert "Traceback" not in self.text, self.text
        assert re.search(r"^ladder[ \w]*: ", self.text, re.MULTILINE), self.text


def plain_environment():
    """The variables of this process that no cell sets."""
    excluded = re.compile(
        r"LC_.*|LANG.*|PYTHON(?!PATH).*|MPL.*|GIT_.*|XDG_.*|SLURM_.*|LADDER_.*|TZ|SOURCE_DATE_EPOCH|CDPATH"
    )
    patterns = excluded, probe.RUNTIME_NAMES
    return {
        name: value for name, value in os.environ.items() if not any(pattern.fullmatch(name) for pattern in patterns)
    }


def run_probe(folder, *arguments, variables=None, python=None, path=()):
    """Run the probe in a study's folder; returns its Answer. `path` has folders to put first on the PATH."""
    study_variables = {"PYTHONPATH": source_path(folder), "XDG_RUNTIME_DIR": str(folder)}
    environment = plain_environment() | study_variables | (variables or {})
    environment["PATH"] = os.pathsep.join([*map(str, path), environment["PATH"]])
    result = subprocess.run(
        [python or sys.executable, PROBE, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PROBE_TIMEOUT,
    )
    text, out = result.stderr.decode(errors="replace"), result.stdout.decode(errors="replace")
    assert "Traceback" not in text, text
    return Answer(result.returncode, text, json.loads(out) if not result.returncode else {})


def source_path(folder):
    """A path of a study's packages for PYTHONPATH, which can't hold a colon: a link replaces a folder that has one."""
    if os.pathsep not in str(folder):
        return f"{folder}/src"
    link = Path(str(folder).partition(os.pathsep)[0]).parent / "code"
    if not link.exists():
        link.symlink_to(folder / "src")
    return str(link)


def make(folder):
    """A study with four cases and the tables of a published machine, in a repository of its own."""
    study = Study(folder, "study")
    small_study.keep_locks_in(study, folder)  # one for all copies
    sizes = {"form": "nn", "m": 200, "n": 200, "k": 200}
    threads = {"openmp": 2, "c_openmp": 2, "blas": 1}
    variants = {name: {"threads": count} for name, count in threads.items() if count <= (os.cpu_count() or 1)}
    if programs.launcher("auto"):
        variants["on_ranks"] = {"ranks": 2, "threads": 1, "fault": "none"}
    study.add("small", variants, sizes=sizes)
    del study.config["machine"]
    study.config["protocol"] = PROTOCOL
    study.command()  # writes the configuration
    shutil.copy(ROOT / ".gitignore", study.folder)
    shutil.copy(PROBE, study.folder.parent)
    with (study.folder / ".gitignore").open("a", encoding="utf-8") as file:
        file.write("/study.yaml\n/scratch/\n/paper/line.tex\n/paper/inputted.tex\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "The study"]):
        subprocess.run([*GIT, *words], cwd=study.folder, check=True)
    collect(study.folder)
    return study.folder


def collect(folder):
    """Collect the tables of a figure from published measurements, which are the same in every study."""
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"experiment": "mlp_accuracy", "cases": []}), encoding="utf-8")
    published = ROOT / "results/published/amd-epyc-2c"
    command = [sys.executable, "-m", "ladder", "collect", plan, f"--published={published}", "--out", "results/tables"]
    subprocess.run(command, cwd=folder, env=plain_environment() | {"PYTHONPATH": f"{folder}/src"}, check=True)
    plan.unlink()


class Baseline(NamedTuple):
    """The study in plain surroundings: its folder, the description by the probe, and {variant: Answer} of measuring."""

    study: Path
    description: dict
    answers: dict


@contextmanager
def lock_baseline(folder):
    """Yield the path of the file and whether it is missing, to one process of a run of tests at a time."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = folder / "baseline.pickle"
        yield path, not path.exists()


def baseline(folder):
    """The Baseline, computed by the first process that needs it."""
    with lock_baseline(folder) as (path, is_missing):
        if is_missing:
            shutil.rmtree(folder / "base", ignore_errors=True)  # of an attempt that failed
            study = make(folder / "base")
            plain_answer = run_probe(study, "--figure", FIGURE, "--typeset")
            assert not plain_answer.status, plain_answer.text
            planned_variants = [
                case["key"].split("/")[1] for case in plain_answer.description["plan"]["cases"] if not case["left_out"]
            ]
            # The second measurement of each is the one that counts: Numba has compiled by then.
            answers = {name: [run_probe(study, "--measure", name) for _ in range(2)][1] for name in planned_variants}
            path.write_bytes(pickle.dumps(Baseline(study, plain_answer.description, answers)))
        return pickle.loads(path.read_bytes())


def copy_study(study, folder):
    """A copy of the study in a folder, the times of its files kept."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(study, folder, symlinks=True)
    return folder


def differences(answer, expected, *excluded_keys):
    """What differs between two descriptions, in this surrounding and in plain ones: a text for each."""
    keys = [
        key for key in (*INVARIANT_KEYS, "workers", "figure", "typeset") if key in answer and key not in excluded_keys
    ]
    return [text for key in keys for text in changes(key, answer[key], expected[key])]


def changes(name, answer, expected):
    """The differences of two values, as texts."""
    if isinstance(answer, dict) and isinstance(expected, dict):
        for key in sorted(answer.keys() | expected.keys()):
            yield from changes(f"{name}.{key}", answer.get(key), expected.get(key))
    elif answer != expected:
        yield f"{name}: {answer} instead of {expected}"


def record_differences(answer, expected):
    """The differences of a record in a surrounding, except noise in samples."""
    keys = ("compiled", "threads", "machine", "source", "sources")
    differences = [text for key in keys for text in changes(f"record.{key}", answer[key], expected[key])]
    ratio = answer["seconds"] / expected["seconds"]
    return (
        [*differences, f"samples take {ratio:.1f} times as long"]
        if not 1 / NOISE_FACTOR < ratio < NOISE_FACTOR
        else differences
    )
