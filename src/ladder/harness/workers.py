"""The harness's side of worker processes: it starts them, exchanges orders and answers through pipes, and ends them."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

from ladder import devices
from ladder.catalogue import traits
from ladder.errors import LadderError
from ladder.harness import crashes, environment, first_calls
from ladder.machine.processes import die_with_parent
from ladder.records import locks

# Seconds for a worker to start, which takes long on a slow file system; to exit after its answer; to end after SIGTERM.
START_TIMEOUT, EXIT_TIMEOUT, TERM_TIMEOUT = 300, 60, 5


class Worker:
    """A started worker process and its pipes.

    The words of `profiler`, a command line, precede its own. A launched worker is a launcher, such as mpiexec, whose
    ranks are the workers.
    """

    def __init__(self, case, protocol, data=None, reference=None, launcher=None, prelude=(), profiler=()):
        self.case, self.device = case, devices.of(case)
        variables = environment.of_worker(case, prelude)
        command = self.device.command(case, launcher, variables)
        self.is_launched = bool(command)
        self.is_ready, self.is_late, self.has_proceeded, self.has_answered = False, False, False, False
        self.fault, self.first_call = crashes.FaultReport(case), first_calls.Watch(case)
        self.process = subprocess.Popen(
            [*profiler, *command, sys.executable, "-m", "ladder.harness.worker", traits.device(case)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
            preexec_fn=partial(die_with_parent, os.getpid()),
            pass_fds=locks.descriptors,
            start_new_session=True,  # so that processes started by a launcher can be ended together with it
            encoding="utf-8",
            errors="replace",  # a launcher may print bytes that aren't UTF-8
        )
        self.job = {
            "workload": case.workload,
            "variant": case.variant,
            "case": case.slug,
            "data": data or {},
            "reference": reference,
            "fault_report": self.fault.path,
            "seconds": protocol["cap"] / protocol["processes"],
            "cold_start": protocol.get("cold_start", True),
            **{name: protocol[name] for name in ("samples", "least", "most", "target", "phase_passes", "energy")},
        }
        self.send(json.dumps(self.job))

    def send(self, line):
        """Write one line to the worker's standard input."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the worker has died, which `receive` reports

    def receive(self):
        """The worker's next answer, a dict. Raises LadderError with the worker's error, or with how it ended."""
        try:
            for line in self.process.stdout:
                answer = parse_answer(line)
                if answer is None:
                    print(line, end="", file=sys.stderr)  # output of the launcher
                elif "error" in answer:
                    log_note = crashes.log_traceback(self.case, answer["traceback"]) if "traceback" in answer else ""
                    raise LadderError(" ".join(filter(None, [answer["error"], log_note])))
                elif "called" in answer:
                    self.first_call.stop()
                else:
                    return answer
        finally:
            self.first_call.stop()
        raise LadderError(self.cause_of_end())

    def cause_of_end(self):
        """Sentences on how the worker ended without an answer."""
        code = self.process.wait()
        cause = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        hint = crashes.HINTS.get(code, "")
        if self.is_launched and not self.is_ready:
            hint = f" ({self.device.launcher_hint()})"
        end = f"The measuring process {cause}{hint} before it had a result."
        return " ".join(filter(None, [end, self.fault.sentences(code) or "What it printed is above."]))

    def wait_ready(self):
        """Wait until the worker, or every rank of its launcher, is ready. Raises LadderError after START_TIMEOUT s."""
        limit = threading.Timer(START_TIMEOUT, self.give_up)
        limit.start()
        try:
            self.receive()
        except LadderError:
            if not self.is_late:
                raise
        finally:
            limit.cancel()
            limit.join()
        if self.is_late:
            hint = f": {self.device.launcher_hint()}" if self.is_launched else "."
            raise LadderError(f"The measuring process wasn't ready after {START_TIMEOUT} s{hint}")
        self.is_ready = True

    def give_up(self):
        """End the worker because it wasn't ready in time."""
        self.is_late = True
        self.end()

    def go(self, variables=None):
        """Time and check the case now, with these variables added to the environment; returns the worker's result."""
        self.first_call.start()
        self.send(f"go {json.dumps(variables or {})}")
        return self.last_answer()

    def prepare(self, variables=None):
        """Prepare the inputs now, with these variables added to the environment, and pause; `wait_paused` waits for it.

        After the first `proceed` the worker times its case and pauses again; after the second it checks the results.
        """
        self.send(f"prepare {json.dumps(variables or {})}")

    def wait_paused(self):
        """Wait until the worker pauses."""
        self.receive()

    def proceed(self):
        """End a pause."""
        if not self.has_proceeded:
            self.first_call.start()
        self.has_proceeded = True
        self.send("proceed")

    def compile(self):
        """Run once now, unchecked and untimed; returns {"compiled": the number of functions that Numba compiled}."""
        self.first_call.start()
        self.send("compile")
        return self.last_answer()

    def last_answer(self):
        """The answer to an order; the worker ends after it."""
        answer = self.receive()
        self.has_answered = True
        return answer

    def stop(self):
        """End the worker and close its pipes, unless that is done."""
        if self.process.stdout.closed:
            return
        self.first_call.stop()
        self.end()
        self.fault.close()
        with contextlib.suppress(BrokenPipeError):  # an order may be left in the pipe of a dead worker
            self.process.stdin.close()
        self.process.stdout.close()

    def end(self):
        """Wait for the exit of a launcher that has answered; terminate any other. Then kill the rest of its session."""
        if not (self.is_launched and self.has_answered and self.ends_within(EXIT_TIMEOUT)):
            self.process.terminate()
            if not self.ends_within(TERM_TIMEOUT):
                self.process.kill()
                if self.is_launched:  # ranks on other nodes get no signal, but notice the launcher's death
                    time.sleep(TERM_TIMEOUT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ends_within(self, seconds):
        """Wait up to `seconds` for the worker to end; returns whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None


def parse_answer(line):
    """The dict at the beginning of a line, or None. Ranks that fail at the same time may write to the same line."""
    try:
        answer, _ = json.JSONDecoder().raw_decode(line)
    except json.JSONDecodeError:
        return None
    return answer if isinstance(answer, dict) else None
