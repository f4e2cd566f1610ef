"""Handle Ctrl-C while the run is planned, when Snakemake would print a traceback."""

import os
import signal
import threading


def exit_at_once(*_):
    """The signal handler: end the process with a sentence."""
    os.write(2, b"ladder: Interrupted while planning: no job was started.\n")
    os._exit(130)


def handle():
    """Let Ctrl-C end the run with a sentence, until `leave_to_snakemake` is called.

    An ignored signal, as in a background job, stays ignored; only the main thread may set a handler.
    """
    is_main_thread = threading.current_thread() is threading.main_thread()
    if is_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_at_once)


def leave_to_snakemake():
    """From now on let Snakemake end its jobs on Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is exit_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
