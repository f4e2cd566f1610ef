"""The small study that faults are put into: made once, copied for each fault, and checked after it.

Five tiny cases, one each of Numba, C, BLAS, two ranks of MPI and a training on downloaded data, with the figures and
numbers that rest on them, beside a published machine. Everything but times is the same in every run, so that what a
fault leaves behind can be compared with a run without one.
"""

import csv
import gzip
import hashlib
import json
import re
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import yaml

from conftest import PROTOCOL, ROOT, Study
from ladder.data import dataset, digits
from ladder.errors import LadderError
from ladder.records import record

FIGURES = tuple(f"results/figures/{name}.svg" for name in ("mlp_learning", "mlp_sample_digits"))
TARGETS = ("measurements", *FIGURES, "results/numbers.tex")
RUN_TIMEOUT = 300  # seconds for one run of Snakemake, beyond which it hangs
END_TIMEOUT = 20  # seconds after a run within which the processes that it started must end
# What is the same to the byte in every run, as patterns below `results`: all that doesn't depend on times.
DETERMINISTIC_FILES = (
    "plans/*.json",
    "tables/*/checks.csv",
    "tables/*/curves.csv",
    "tables/*/missing.csv",
    "tables/*/traces.csv",
    "figures/*",
    "data/mnist/*-ubyte",  # not their checksums, which may be missing
    "machines/*.json",
)
GIT = ("git", "-c", "user.name=faults", "-c", "user.email=faults@localhost")


@dataclass
class Outcome:
    """What a run printed, its exit status, and whether it had to be ended because it hung."""

    text: str
    status: int
    is_hung: bool = False


def make(folder):
    """Make the study in a folder, and run it. Raises RuntimeError where that fails."""
    study = Study(folder)
    study.config["protocol"] = PROTOCOL | {"most": PROTOCOL["samples"]}  # always as many samples
    keep_locks_in(study, ".")  # a copy has locks of its own, by the same sources
    use_local_mirror(study)
    sizes = {"form": "nn", "m": 17, "n": 5, "k": 9}
    variants = {name: {"threads": 1} for name in ("openmp", "c_openmp", "blas")}
    ranks = {"on_ranks": {"ranks": 2, "threads": 1, "fault": "none"}}
    study.add_training().add("small", variants | ranks, sizes=sizes)
    study.config["experiments"]["mlp_accuracy"]["sizes"]["source"] = "mnist"
    commit_sources(study.folder)
    # Another machine's training is published before this one's is measured.
    config = study.config
    training_alone = config["experiments"] | {"small": None}
    run_without_fault(study, config | {"machine": "there", "experiments": training_alone}, ["publish"])
    shutil.rmtree(study.folder / "results/records")
    run_without_fault(study, config, TARGETS)
    return study


def reopen(folder):
    """The study that `make` has made in a folder."""
    study = Study.__new__(Study)
    (path,) = Path(folder).glob("*/study.yaml")
    study.folder, study.config = path.parent, yaml.safe_load(path.read_text(encoding="utf-8"))
    return study


def run_without_fault(study, config, targets):
    """Run the study with a configuration. Raises RuntimeError where that fails."""
    study.config = config
    outcome = run(study, targets, timeout=4 * RUN_TIMEOUT)
    if outcome.status:
        raise RuntimeError(f"The study doesn't run without a fault:\n{outcome.text}")


def keep_locks_in(study, folder):
    """Have the study's sources keep the machine's locks in a folder, so that nothing else is waited for."""
    module = study.folder / "src/ladder/records/locks.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(re.sub(r"^FOLDERS = .*$", f"FOLDERS = (Path({str(folder)!r}),)", text, flags=re.MULTILINE))


def use_local_mirror(study):
    """Have the study take the digits for MNIST, from a folder of archives in its own."""
    digits_folder, archives = study.folder / "digits", study.folder / "mirror"
    digits.write(digits_folder)
    archives.mkdir()
    expected_files = {}
    for name in dataset.FILES:
        contents = (digits_folder / name).read_bytes()
        expected_files[name] = len(contents), hashlib.sha256(contents).hexdigest()
        (archives / f"{name}.gz").write_bytes(gzip.compress(contents, mtime=0))
    shutil.rmtree(digits_folder)
    module = study.folder / "src/ladder/data/mnist.py"
    head, _, tail = module.read_text(encoding="utf-8").partition("EXPECTED_FILES = {")
    table = "".join(f"    {name!r}: ExpectedFile{expected_file},\n" for name, expected_file in expected_files.items())
    module.write_text(f"{head}EXPECTED_FILES = {{\n{table}}}{tail.partition('}')[2]}", encoding="utf-8")
    study.config |= {"mnist_mirror": "mirror", "mirrors": []}


def commit_sources(folder):
    """Make a repository of the study's sources."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8")
    (folder / ".gitignore").write_text(ignored + "/study.yaml\n/mirror/\n/results/\n", encoding="utf-8")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "The study"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


def start(study, targets=TARGETS, variables=None, prepare=None):
    """Start Snakemake on the study, in a session of its own.

    `prepare` is called once the configuration has been written.
    """
    line, environment = study.command(*targets)
    if prepare:
        prepare()
    process = subprocess.Popen(
        line,
        cwd=study.folder,
        env=environment | (variables or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    # Into memory, since the disk may be full.
    process.printed = []
    process.reader = threading.Thread(target=lambda: process.printed.extend(process.stdout), daemon=True)
    process.reader.start()
    return process


def finish(study, process, timeout=RUN_TIMEOUT):
    """Wait for a started run; the Outcome. What outlasts the limit is ended with all that it has started."""
    try:
        process.wait(timeout)
        is_hung = False
    except subprocess.TimeoutExpired:
        is_hung = True
        end_all([psutil.Process(process.pid), *processes_in(study.folder)])
        process.wait()
    process.reader.join(END_TIMEOUT)  # what outlives the run may hold the pipe
    return Outcome(b"".join(process.printed).decode(errors="replace"), process.returncode, is_hung)


def run(study, targets=TARGETS, variables=None, timeout=RUN_TIMEOUT, prepare=None):
    return finish(study, start(study, targets, variables, prepare), timeout)


def processes_in(folder):
    """The processes that work in a study's folder."""
    processes = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder) and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
        except (psutil.Error, OSError):
            continue
    return processes


def end_remaining_processes(folder):
    """What still works in the folder some seconds after its run has ended, as command lines; it is ended."""
    deadline = time.monotonic() + END_TIMEOUT
    while (processes := processes_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    lines = [command_of(process) for process in processes]
    end_all(processes)
    return lines


def command_of(process):
    try:
        return " ".join(process.cmdline())[:200]
    except psutil.Error:
        return "a process that has ended meanwhile"


def end_all(processes):
    for process in processes:
        try:
            process.send_signal(signal.SIGCONT)
            process.kill()
        except psutil.Error:
            continue


def valid_records(study):
    """{path: (bytes, when it was measured)} of the study's sound records, and {path: what is wrong} of the others."""
    records, refusals = {}, {}
    for path in sorted((study.folder / "results/records").rglob("*.json")):
        name = str(path.relative_to(study.folder))
        try:
            document = record.read(path)
            if name != record.path_of(
                document["machine"], "/".join(document[key] for key in ("workload", "variant", "case"))
            ):
                refusals[name] = "is that of another case"
                continue
            records[name] = path.read_bytes(), document["started"]
        except LadderError as error:
            refusals[name] = str(error)
    return records, refusals


def deterministic_digests(folder):
    """{name: digest} of the files below `results` that are the same in every run."""
    root = folder / "results"
    paths = {
        path for pattern in DETERMINISTIC_FILES for path in root.glob(pattern) if path.is_file() and path.name[0] != "."
    }
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


def differences(study, base):
    """What is wrong with a study that has completed, compared with the one without faults: a list of texts."""
    records, refusals = valid_records(study)
    base_records, _ = valid_records(base)
    complaints = [f"{name} is there, but not sound: {refusal}" for name, refusal in refusals.items()]
    complaints += [f"{name} is missing" for name in base_records.keys() - records.keys() - refusals.keys()]
    complaints += [f"{name} is a record of no case" for name in records.keys() - base_records.keys()]
    for name, (contents, started) in records.items():
        if name in base_records and started == base_records[name][1] and contents != base_records[name][0]:
            complaints.append(f"{name} differs from what was measured, and is taken for sound")
    digests, base_digests = deterministic_digests(study.folder), deterministic_digests(base.folder)
    for name in sorted(digests.keys() | base_digests.keys()):
        if digests.get(name) != base_digests.get(name):
            complaints.append(
                f"results/{name} {'differs' if name in digests and name in base_digests else 'is missing in one study'}"
            )
    return complaints + wrong_tables(study) + wrong_numbers(study, base) + wrong_references(study, base)


def wrong_tables(study):
    """The tables whose samples aren't those of the records that are there."""
    plans = [path.stem for path in (study.folder / "results/plans").glob("*.json")]
    expected = {f"tables/{name}/samples.csv": sorted(expected_samples(study, name)) for name in plans}
    expected["table.csv"] = sorted(sample for samples in expected.values() for sample in samples)
    return [
        f"results/{name} doesn't hold the samples of the records"
        for name, samples in expected.items()
        if sorted(samples_in_table(study.folder / "results" / name)) != samples
    ]


def expected_samples(study, experiment):
    """(machine, seconds) of all whole calls in the records of an experiment's plan, and in what is published of it."""
    plan = json.loads((study.folder / f"results/plans/{experiment}.json").read_text(encoding="utf-8"))
    keys = {case["key"] for case in plan["cases"]}
    for path in study.records().values():
        document = record.read(path)
        if "/".join((document["workload"], document["variant"], document["case"])) in keys:
            yield from (("here", float(value)) for process in document["processes"] for value in process["samples"])
    published = study.folder / "results/published/there/samples.csv.gz"
    with gzip.open(published, "rt", encoding="utf-8", newline="") as file:
        calls = whole_calls(row for row in csv.DictReader(file) if row["experiment"] == experiment)
        yield from ((f"{machine} (published)", seconds) for machine, seconds in calls)


def samples_in_table(path):
    with path.open(encoding="utf-8", newline="") as file:
        yield from whole_calls(csv.DictReader(file))


def whole_calls(rows):
    """(machine, seconds) of the rows of a table of samples that are whole calls."""
    return [(row["machine"], float(row["seconds"])) for row in rows if row["phase"] == "total"]


def wrong_numbers(study, base):
    """A complaint about numbers that differ; those that depend on times count only if no case was measured again."""
    numbers, base_numbers = (number_macros(each_study.folder / "results/numbers.tex") for each_study in (study, base))
    has_same_records = start_times(study) == start_times(base)
    names = [name for name in numbers.keys() | base_numbers.keys() if has_same_records or name.startswith("study/")]
    differ = sorted(name for name in names if numbers.get(name) != base_numbers.get(name))
    return [f"results/numbers.tex has other values of {', '.join(differ[:5])}"] if differ else []


def start_times(study):
    """When each record of a study was measured."""
    return {name: started for name, (_, started) in valid_records(study)[0].items()}


def number_macros(path):
    """{name: LaTeX} of the numbers in a file of `\\defineresult` lines."""
    return dict(re.findall(r"^\\defineresult\{([^}]+)\}(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE))


def wrong_references(study, base):
    """The references whose arrays differ."""
    complaints = []
    for path in sorted((base.folder / "results/references").rglob("*.npz")):
        path_in_study = study.folder / path.relative_to(base.folder)
        with np.load(path) as base_arrays, np.load(path_in_study) as arrays:
            is_same = arrays.files == base_arrays.files and all(
                np.array_equal(arrays[name], base_arrays[name]) for name in arrays.files
            )
        if not is_same:
            complaints.append(f"{path.relative_to(base.folder)} has other arrays")
    return complaints


def restore(study, base, path):
    """Follow the advice to restore a file, or to delete and rebuild it."""
    original = base.folder / path.relative_to(study.folder)
    is_input = path.name == "study.yaml" or path.is_relative_to(study.folder / "mirror") or "published" in path.parts
    if is_input and original.exists():
        shutil.copy2(original, path)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def files_to_restore(study, text):
    """The files of the study that a sentence advises to restore or to delete; archives that can't be fetched, all."""
    paths = set((study.folder / "mirror").glob("*.gz")) if "can't be fetched" in text else set()
    for sentence in re.findall(r"^ladder.*(?:[Dd]elete|[Rr]estore|configuration|yaml).*$", text, re.MULTILINE):
        names = re.findall(r"[^\s'\"`:(]*(?:results/|mirror/|study\.yaml|\.snakemake/)[^\s:;'\"`]*", sentence)
        for name in names:
            path = study.folder / name.rstrip(".,")
            if path.exists() and path.is_relative_to(study.folder):
                paths.add(path)
    return paths
