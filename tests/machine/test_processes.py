"""Child processes that die with their parents."""

import errno
import os
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import psutil
import pytest

from conftest import PRIVATE_LOCKS, ROOT
from ladder.errors import LadderError
from ladder.machine import processes, programs

# Prints its process id, then waits.
WAITING_MODULE = "import os, time; print(os.getpid(), flush=True); time.sleep(60)\n"


def start_job(tmp_path, template):
    """Run a shell command, a template with `{}` for a job's command line; returns the shell and its first output line.

    The job runs WAITING_MODULE. With LADDER_PARENT=$$, the shell is the run to which the job belongs.
    """
    (tmp_path / "waiting.py").write_text(WAITING_MODULE)
    variables = {"PYTHONPATH": f"{ROOT / 'src'}:{PRIVATE_LOCKS}:{tmp_path}", "LADDER_TESTS_LOCKS": str(tmp_path)}
    line = ["bash", "-c", template.format(f"{sys.executable} -m ladder.machine.processes waiting")]
    process = subprocess.Popen(line, env=os.environ | variables, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline()


def is_running(pid):
    """Whether a process runs; one that has ended may be a zombie for seconds."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ends_soon(pid):
    """Whether a process ends within ten seconds."""
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


def test_a_job_dies_with_its_run(tmp_path):
    process, pid = start_job(tmp_path, "LADDER_PARENT=$$ {}; true")
    with process:
        os.kill(process.pid, signal.SIGKILL)
        assert ends_soon(int(pid))


def test_a_program_may_be_between_a_run_and_its_job(tmp_path):
    """Such as a wrapper or a container's runtime, with which the job dies."""
    process, pid = start_job(tmp_path, "export LADDER_PARENT=$$; bash -c 'echo $$; {}; true'; true")
    with process:
        job = process.stdout.readline()
        os.kill(int(pid), signal.SIGKILL)
        assert ends_soon(int(job))


def test_a_job_whose_run_has_already_died_does_nothing(tmp_path):
    ended_process = subprocess.Popen(["true"])
    ended_process.wait()
    process, message = start_job(tmp_path, f"LADDER_PARENT={ended_process.pid} {{}} 2>&1; true")
    with process:
        assert message.startswith("ladder: the process that started this one has ended, or LADDER_PARENT names another")


@pytest.mark.parametrize("text", ["abc", "1.5", "1 x"])
def test_an_invalid_ladder_parent_is_refused(monkeypatch, text):
    monkeypatch.setenv("LADDER_PARENT", text)
    monkeypatch.setattr(processes, "job_variables", {})
    with pytest.raises(SystemExit, match=rf"^ladder: LADDER_PARENT='{text}' isn't a list of process ids: unset it"):
        processes.join_run()


def refuse_to_start(*arguments, **options):
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def test_a_limit_of_processes_is_not_taken_for_a_missing_program(monkeypatch):
    monkeypatch.setattr(processes.subprocess, "Popen", refuse_to_start)
    with pytest.raises(LadderError, match=r"^No more processes and threads can be started: raise the limit"):
        programs.output("gcc", "--version")


def test_a_limit_of_threads_is_distinguished_from_other_errors(monkeypatch):
    assert processes.can_start_thread()
    assert processes.is_at_limit(RuntimeError("can't start new thread"))
    assert not processes.is_at_limit(RuntimeError("CUDA error"))
    assert not processes.is_at_limit(FileNotFoundError(errno.ENOENT, "No such file"))
    monkeypatch.setattr(processes.threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
    assert not processes.can_start_thread()


def test_a_job_without_a_run_outlives_its_shell(tmp_path):
    process, pid = start_job(tmp_path, "{} & wait")
    with process:
        process.kill()
        process.wait()
        time.sleep(0.5)  # for a signal that shouldn't come
        assert is_running(int(pid))
        os.kill(int(pid), signal.SIGKILL)


def test_a_program_that_a_process_started_dies_with_it(tmp_path):
    program = "from ladder.machine import processes; processes.run(['sh', '-c', 'echo $$; exec sleep 60'])"
    line = [sys.executable, "-c", program]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True) as process:
        pid = int(process.stdout.readline())
        process.kill()
        assert ends_soon(pid)


def test_after_its_timeout_a_program_dies_with_its_children():
    """A child that keeps the program's output open doesn't delay the end."""
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        processes.run(["sh", "-c", "sleep 60 & echo $!; wait"], timeout=0.3, capture_output=True)
    assert time.monotonic() - began < 10
    assert ends_soon(int(caught.value.stdout))
    with pytest.raises(subprocess.CalledProcessError):
        processes.run(["false"], check=True)
