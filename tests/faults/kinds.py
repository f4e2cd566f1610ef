"""The kinds of faults: for each, a function that puts the fault into a trial's study, in a run or before one.

KINDS is the table that a seed draws from, with the weight of each. What a fault draws, it draws from the trial's own
random numbers, and it logs what it does by `trial.say`. A function that runs the study puts the outcome into
`trial.outcomes`; `run.py` then runs the study until it completes and judges it.
"""

import contextlib
import http.server
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import yaml

from faults import small_study

SHIFTED_CLOCK = Path(__file__).with_name("shifted_clock")
YEAR = 365 * 24 * 3600


@dataclass
class Trial:
    """One fault: its number, the study that it is put into, what was done to that, and how its runs ended."""

    number: int
    seed: int
    study: object
    base: object  # the study without faults, of which `study` is a copy
    random: random.Random
    kind: str = ""
    log: list = field(default_factory=list)
    outcomes: list = field(default_factory=list)
    may_print_traceback: bool = False  # since Python itself may run out of memory
    damaged_contents: dict = field(default_factory=dict)  # {path: contents} of the files that were damaged
    # Whether a run may end without a message, because its head, Snakemake's main process, was killed or interrupted.
    may_be_silent: bool = False
    clean_up: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)  # mounts, servers
    changed_records: set = field(default_factory=set)  # records that needn't stay as they were

    @property
    def folder(self):
        return self.study.folder

    def say(self, text):
        self.log.append(text)

    def run(self, **options):
        self.outcomes.append(small_study.run(self.study, **options))

    def files(self, *patterns):
        paths = {path for pattern in patterns for path in self.folder.glob(pattern)}
        return sorted(path for path in paths if path.is_file())


# Results that a run must make again, and the files that are deleted for it.
DELETIONS = {
    "a record of Numba": ["results/records/here/gemm/openmp"],
    "a record of C": ["results/records/here/gemm/c_openmp"],
    "a record of BLAS": ["results/records/here/gemm/blas"],
    "the record of two ranks": ["results/records/here/gemm/on_ranks"],
    "the record of the training": ["results/records/here/mlp"],
    "a compiled library": ["results/build", "results/records/here/gemm/c_openmp"],
    "what Numba compiled": ["results/compiled", "results/cache", "results/records/here/gemm/openmp"],
    "the data": ["results/data", "results/references", "results/records/here/mlp"],
    "the tables": ["results/tables", "results/table.csv"],
    "figures and numbers": ["results/figures", "results/numbers.tex"],
}


def delete_results(trial, *names, count=1):
    """Delete some results, so that the next run has something to do; by default any `count` of DELETIONS."""
    for name in names or trial.random.sample(sorted(DELETIONS), count):
        trial.say(f"deleted {name}")
        for path in (trial.folder / pattern for pattern in DELETIONS[name]):
            trial.changed_records |= {str(record.relative_to(trial.folder)) for record in path.rglob("*.json")}
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


# Processes of a run, by words of their command lines, and what to delete so that a run starts some.
ROLES = {
    "a job": (("-m ladder ",), None),
    "a shell": (("bash -c", "/bin/bash"), None),
    "a worker": (("ladder.harness.worker",), "a record of BLAS"),
    "a rank": (("ladder.harness.worker mpi",), "the record of two ranks"),
    "the launcher": (("mpiexec", "hydra_pmi_proxy"), "the record of two ranks"),
    "the compiler": (("cc1", "gcc", "/as ", "collect2"), "a compiled library"),
    "the process in which Numba compiles": (("ladder precompile", "harness.worker"), "what Numba compiled"),
    "the head": ((), None),
}


def processes_with(head, words):
    """The processes below a run's head with one of the words in their command lines; without words the head itself."""
    if not words:
        return [psutil.Process(head.pid)]
    children = psutil.Process(head.pid).children(recursive=True)
    return [process for process in children if any(word in small_study.command_of(process) for word in words)]


def wait_for_process(trial, head, words):
    """A random process with these words, at a random moment after the first one starts; None once the run has ended.

    Without words, the moment is within the seconds that a run takes.
    """
    delay = trial.random.choice([0, 0.1, 0.5, 1.5]) * trial.random.random() if words else trial.random.uniform(0.5, 9)
    first_seen = None
    while head.poll() is None:
        with contextlib.suppress(psutil.Error):
            processes = processes_with(head, words)
            first_seen = first_seen or (time.monotonic() if processes else None)
            if processes and time.monotonic() - first_seen >= delay:
                return trial.random.choice(processes)
        time.sleep(0.01)
    return None


def kill(trial):
    """SIGKILL or, less often, SIGTERM to a process of a run."""
    signals = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]
    send_signal(trial, trial.random.choice(sorted(ROLES)), trial.random.choice(signals))


def interrupt(trial):
    """Ctrl-C, to all of the run at once as a terminal does, or to its head alone."""
    delete_results(trial, count=3)
    head = small_study.start(trial.study)
    if process := wait_for_process(trial, head, ()):
        trial.say("pressed Ctrl-C")
        (os.killpg if trial.random.random() < 0.5 else os.kill)(process.pid, signal.SIGINT)
    trial.may_be_silent = True
    trial.outcomes.append(small_study.finish(trial.study, head))


def stop(trial):
    """SIGSTOP to a process of a run, and SIGCONT some seconds later."""
    send_signal(trial, trial.random.choice(sorted(ROLES)), signal.SIGSTOP, later_signal=signal.SIGCONT)


def send_signal(trial, role, signum, later_signal=None):
    """Send a process of a role a signal, and another one later."""
    words, deletion = ROLES[role]
    delete_results(trial, *filter(None, [deletion]), count=3)
    head = small_study.start(trial.study)
    process = wait_for_process(trial, head, words)
    with contextlib.suppress(psutil.Error):
        if process:
            trial.say(f"sent {signum.name} to {role}: {small_study.command_of(process)[:90]}")
            process.send_signal(signum)
            trial.may_be_silent = role == "the head" and not later_signal
        if process and later_signal:
            time.sleep(trial.random.uniform(0.2, 4))
            process.send_signal(later_signal)
    trial.outcomes.append(small_study.finish(trial.study, head))


# Files that a run reads or writes, by what they are.
FILES = {
    "a record": ["results/records/**/*.json"],
    "a stamp": ["results/stamps/**/*.txt"],
    "a table": ["results/tables/*/*.csv", "results/table.csv"],
    "a plan": ["results/plans/*.json"],
    "a note on what Numba compiled": ["results/compiled/**/*.json", "results/cache/**/*.json"],
    "Numba's compiled code": ["results/cache/**/*.nb[ci]"],
    "a compiled library": ["results/build/**/*.so", "results/build/**/*.json"],
    "a reference": ["results/references/**/*.npz"],
    "the data": ["results/data/mnist/*"],
    "a downloaded archive": ["mirror/*.gz"],
    "Snakemake's metadata": [".snakemake/metadata/**/*", ".snakemake/incomplete/**/*", ".snakemake/ladder*"],
    "a published table": ["results/published/there/*"],
    "a figure or the numbers": ["results/figures/*", "results/numbers.tex"],
    "a description of the machine": ["results/machines/*.json"],
    "the configuration": ["study.yaml"],
}
# What nothing reads, or what its reader refuses by its checksum: it may stay damaged until somebody reads it.
UNREAD_FILES = ("results/figures/*", "results/numbers.tex", "results/table.csv", "results/references/**/*.npz")
# The entry of DELETIONS after which a run reads a file: often applied with the damage, so that the file is read.
READING_DELETIONS = {
    "Numba's compiled code": "a record of Numba",
    "a note on what Numba compiled": "a record of Numba",
    "a compiled library": "a record of C",
    "a reference": "the record of the training",
    "the data": "the record of the training",
    "a downloaded archive": "the data",
    "a table": "figures and numbers",
    "a plan": "the tables",
    "a published table": "the tables",
    "a description of the machine": "figures and numbers",
}

# The same for files whose damage must be noticed, even if the runs after the fault didn't read them: see
# `read_damaged_files` of run.py.
REQUIRED_READING = {
    "a record": "the tables",
    "a plan": "the tables",
    "a table": "figures and numbers",
    "the data": "the record of the training",
    "a description of the machine": "figures and numbers",
}


def damage(trial, path):
    """Truncate, flip, empty, blank or lengthen a file; its time changes or, as after a failure of a disk, does not."""
    contents, before = bytearray(path.read_bytes()), path.stat()
    change = trial.random.choice(
        ["truncated", "flipped a bit of", "flipped a bit of", "emptied", "blanked", "lengthened"]
    )
    position = trial.random.randrange(max(1, len(contents)))
    if change == "truncated":
        del contents[position:]
    elif change == "flipped a bit of" and contents:
        contents[position] ^= 1 << trial.random.randrange(8)
    elif change == "emptied":
        contents.clear()
    elif change == "blanked":
        sector = slice(position, position + 512)
        contents[sector] = bytes(len(contents[sector]))
    elif change == "lengthened":
        contents += trial.random.randbytes(40)
    path.write_bytes(contents)
    trial.damaged_contents[path] = bytes(contents)
    keeps_time = trial.random.random() < 0.5
    if keeps_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    name = path.relative_to(trial.folder)
    trial.say(f"{change} {name} at byte {position} of {before.st_size}, its time {'kept' if keeps_time else 'new'}")


def damage_between_runs(trial):
    """Damage a file between two runs."""
    file_kind = trial.random.choice(sorted(FILES))
    if file_kind in READING_DELETIONS and trial.random.random() < 0.7:
        delete_results(trial, READING_DELETIONS[file_kind])
    trial.changed_records |= set(small_study.valid_records(trial.study)[0])
    path = trial.random.choice(trial.files(*FILES[file_kind]))
    if file_kind == "the configuration":  # which each run writes before it begins
        trial.run(prepare=lambda: damage_configuration(trial, path))
        if not trial.outcomes[-1].status:
            trial.say("which is that of another study, begun again")
            shutil.rmtree(trial.folder)
            shutil.copytree(trial.base.folder, trial.folder, symlinks=True)
    else:
        damage(trial, path)


def damage_configuration(trial, path):
    """Damage the configuration; empty it if it lost an experiment's entry: the shipped experiment would run."""
    damage(trial, path)
    with contextlib.suppress(ValueError, yaml.YAMLError):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and set(trial.study.config["experiments"]) - set(
            document.get("experiments") or {}
        ):
            trial.say("which has lost experiments, and was emptied")
            path.write_bytes(b"")


def damage_during_run(trial):
    """Damage a file while a run goes on."""
    trial.changed_records |= set(small_study.valid_records(trial.study)[0])
    delete_results(trial, count=3)
    head = small_study.start(trial.study)
    if wait_for_process(trial, head, ()):
        paths = trial.files(*FILES[trial.random.choice(sorted(FILES.keys() - {"the configuration"}))])
        with contextlib.suppress(FileNotFoundError, IndexError):  # the run has replaced it
            damage(trial, trial.random.choice(paths))
    trial.outcomes.append(small_study.finish(trial.study, head))


def mount(trial, *words):
    """Mount something until the trial ends; returns whether that is possible."""
    result = subprocess.run(["mount", *words], capture_output=True)
    if not result.returncode:
        trial.clean_up.callback(subprocess.run, ["umount", "--lazy", words[-1]], capture_output=True)
    return not result.returncode


def fill_disk(trial):
    """A disk with a few free kilobytes or, if none may be mounted, a limit on the size of files."""
    disk = trial.folder.parent / "disk"
    disk.mkdir()
    if not mount(trial, "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)):
        limit_file_sizes(trial)
        return
    original_folder = trial.folder
    shutil.move(original_folder, disk)
    trial.study.folder = disk / original_folder.name
    # Should it fail, what was on the disk is kept.
    trial.clean_up.callback(lambda: shutil.copytree(disk / original_folder.name, original_folder, symlinks=True))
    delete_results(trial, count=4)
    free_bytes = trial.random.choice([0, 4, 16, 64, 256]) * 1024
    available = shutil.disk_usage(disk).free
    filler = disk / "filler"
    filler.write_bytes(bytes(max(0, available - free_bytes)))
    trial.say(f"left {free_bytes} bytes of the disk free")
    trial.run()
    filler.unlink()


def limit_file_sizes(trial):
    """No file of a run may grow beyond some kilobytes (RLIMIT_FSIZE)."""
    delete_results(trial, count=4)
    max_bytes = trial.random.choice([0, 512, 4096, 20_000])
    trial.say(f"no file may have more than {max_bytes} bytes")
    head = small_study.start(trial.study)
    time.sleep(trial.random.uniform(0, 3))
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(head.pid, resource.RLIMIT_FSIZE, (max_bytes, resource.RLIM_INFINITY))
    trial.outcomes.append(small_study.finish(trial.study, head))


def forbid_writing(trial):
    """A folder in which nothing may be written."""
    names = ["results", "results/records", "results/tables", "results/figures", "results/cache", ".snakemake"]
    folder = trial.folder / trial.random.choice(names)
    delete_results(trial, count=4)
    folder.mkdir(exist_ok=True)
    trial.say(f"{folder.name} can't be written")
    if os.geteuid():
        folder.chmod(0o555)
        trial.run()
        folder.chmod(0o755)
    elif mount(trial, "--bind", str(folder), str(folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        trial.run()
        trial.clean_up.close()


# What a mirror may do wrong, as functions of a request's handler and the bytes that it should send.
ANSWERS = {
    "says 404": lambda handler, contents: handler.send_error(404),
    "says 500": lambda handler, contents: handler.send_error(500),
    "sends a page": lambda handler, contents: answer(handler, b"<html>Please log in</html>"),
    "cuts the file off": lambda handler, contents: answer(handler, contents[: len(contents) // 2]),
    "closes the connection": lambda handler, contents: answer(handler, contents[:100], length=len(contents)),
    "flips a bit": lambda handler, contents: answer(
        handler, contents[:999] + bytes([contents[999] ^ 4]) + contents[1000:]
    ),
    "sends another file": lambda handler, contents: answer(handler, b"\x1f\x8b" + contents),
    "sends without end": lambda handler, contents: answer(handler, bytes(300_000_000)),
    "redirects to itself": lambda handler, contents: redirect(handler),
    "sends nothing": lambda handler, contents: handler.connection.close(),
}


def answer(handler, contents, length=None):
    handler.send_response(200)
    handler.send_header("Content-Length", str(length or len(contents)))
    handler.end_headers()
    with contextlib.suppress(OSError):
        handler.wfile.write(contents)


def redirect(handler):
    handler.send_response(302)
    handler.send_header("Location", handler.path)
    handler.end_headers()


def break_mirror(trial):
    """A mirror that is down or sends wrong answers; in half of the trials, a sound one follows it."""
    answer_kind = trial.random.choice(["is down", *sorted(ANSWERS)])
    delete_results(trial, "the data")
    folder = trial.folder / "mirror"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            ANSWERS[answer_kind](self, (folder / Path(self.path).name).read_bytes())

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    trial.clean_up.callback(server.server_close)
    if answer_kind != "is down":
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        trial.clean_up.callback(server.shutdown)
    else:
        server.server_close()
    has_other = trial.random.random() < 0.5
    trial.say(f"a mirror {answer_kind}, {'with' if has_other else 'without'} another one behind it")
    before = dict(trial.study.config)
    other_mirrors = ["mirror"] if has_other else []
    trial.study.config |= {"mnist_mirror": f"http://127.0.0.1:{server.server_port}", "mirrors": other_mirrors}
    trial.run()
    trial.study.config = before
    if has_other and trial.outcomes[0].status:
        trial.outcomes[0].text += "\nFAULT: the second mirror wasn't used"


def break_git(trial):
    """A git that is slow, hangs, fails or prints nonsense, and sources that are changed or aren't.

    A command of git may take 10 s (`GIT_TIMEOUT` of `ladder.machine.revision`).
    """
    behaviour = trial.random.choice(["sleep 2", "sleep 12", "exec sleep 300", "exit 128", "echo nonsense; exit 0"])
    delete_results(trial, "a record of BLAS")
    stand_in = trial.folder.parent / "bin/git"
    stand_in.parent.mkdir()
    stand_in.write_text(f'#!/bin/sh\n{behaviour}\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
    stand_in.chmod(0o755)
    is_changed = trial.random.random() < 0.5
    source = trial.folder / "src/ladder/errors.py"
    if is_changed:
        source.write_text(source.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    trial.say(f"git is `{behaviour}`, the sources are {'changed' if is_changed else 'clean'}")
    trial.run(variables={"PATH": f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}"})
    (path,) = trial.files("results/records/here/gemm/blas/*.json") or [None]
    source_in_record = path and json.loads(path.read_text(encoding="utf-8"))["source"]
    commit = subprocess.run(
        ["git", "-C", trial.folder, "rev-parse", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    allowed = [{"commit": commit, "dirty": is_changed}, {"commit": commit, "dirty": True}]
    if source_in_record and source_in_record not in allowed and source_in_record["commit"] != "unknown":
        trial.outcomes[-1].text += f"\nFAULT: a record says that it comes from {source_in_record}, which is wrong"
    if is_changed:
        subprocess.run(["git", "-C", trial.folder, "checkout", "--quiet", "."], check=True)


def shift_clock(trial):
    """A clock that was set back or forward: for a run, or for the times of files that were written before."""
    shift = trial.random.choice([-YEAR, -3600, -5, 5, 3600, YEAR])
    delete_results(trial, count=2)
    if trial.random.random() < 0.5:
        trial.say(f"a run whose clock is {shift} s off")
        path = trial.study.command()[1]["PYTHONPATH"]
        trial.run(variables={"PYTHONPATH": f"{SHIFTED_CLOCK}{os.pathsep}{path}", "FAULT_CLOCK": str(shift)})
    else:
        paths = trial.files("results/**/*", ".snakemake/**/*", "src/**/*.py")
        fraction = trial.random.choice([0.1, 1.0])
        trial.say(f"the times of {fraction:.0%} of the files are {shift} s off")
        for path in paths:
            if trial.random.random() < fraction:
                shifted_time = path.stat().st_mtime + shift
                os.utime(path, (shifted_time, shifted_time))
    trial.changed_records |= set(small_study.valid_records(trial.study)[0])


def limit_memory(trial):
    """A job, a worker or a rank whose memory may grow by at most 64 MiB (RLIMIT_AS)."""
    role = trial.random.choice(["a job", "a worker", "a rank"])
    words, deletion = ROLES[role]
    delete_results(trial, *filter(None, [deletion]))
    head = small_study.start(trial.study)
    if process := wait_for_process(trial, head, words):
        growth = trial.random.choice([0, 1, 8, 64]) * 2**20
        trial.may_print_traceback = True
        with contextlib.suppress(psutil.Error, OSError):
            trial.say(f"no more than {growth >> 20} MiB more for {role}: {small_study.command_of(process)[:90]}")
            max_bytes = process.memory_info().vms + growth
            resource.prlimit(process.pid, resource.RLIMIT_AS, (max_bytes, max_bytes))
    trial.outcomes.append(small_study.finish(trial.study, head))


def leave_stale_lock(trial):
    """A lock that a dead run has left."""
    delete_results(trial, count=2)
    host = trial.random.choice(["", "another-host", os.uname().nodename])
    run_lock = trial.folder / ".snakemake/ladder.lock"
    lock_kind = trial.random.choice(["of Snakemake", "of Numba", "of the compiler", "as a folder"])
    trial.say(f"a lock {lock_kind} is left by a run on {host or 'no host'!r}")
    run_lock.write_text(host, encoding="utf-8")
    if lock_kind == "of Snakemake":
        locks = trial.folder / ".snakemake/locks"
        locks.mkdir(exist_ok=True)
        (locks / "0.output.lock").write_text(str(trial.folder / "results/table.csv") + "\n", encoding="utf-8")
        (locks / "0.input.lock").write_text("", encoding="utf-8")
    for path in trial.files("results/cache/*/.lock" if lock_kind == "of Numba" else "results/build/**/.lock"):
        if lock_kind == "as a folder":
            path.unlink()
            path.mkdir()
        else:
            path.write_text("12345", encoding="utf-8")


def start_second_run(trial):
    """Two runs of one folder at a time: one of them does all, the other one says that it can't."""
    delete_results(trial, count=3)
    first = small_study.start(trial.study)
    time.sleep(trial.random.uniform(0, 8))
    line, environment = trial.study.command(*small_study.TARGETS)
    second = subprocess.run(
        line,
        cwd=trial.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=small_study.RUN_TIMEOUT,
    )
    trial.say(f"a second run began beside the first and ended with status {second.returncode}")
    trial.outcomes.append(small_study.finish(trial.study, first))
    trial.outcomes.append(small_study.Outcome(second.stdout.decode(errors="replace"), second.returncode))


# Each kind: its function, and its weight in the draw.
KINDS = {
    "kill": (kill, 26),
    "interrupt": (interrupt, 4),
    "stop": (stop, 8),
    "damage between runs": (damage_between_runs, 34),
    "damage during a run": (damage_during_run, 12),
    "full disk": (fill_disk, 10),
    "small files": (limit_file_sizes, 4),
    "read-only folder": (forbid_writing, 6),
    "mirror": (break_mirror, 10),
    "git": (break_git, 6),
    "clock": (shift_clock, 8),
    "memory": (limit_memory, 6),
    "stale lock": (leave_stale_lock, 6),
    "two runs": (start_second_run, 4),
}
