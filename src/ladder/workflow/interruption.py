"""Ctrl-C before anything has begun, when Snakemake would print a traceback."""

import os
import signal
import threading


def interrupted(*_):
    """End at once with a sentence."""
    os.write(2, b"ladder: Interrupted while planning: nothing was begun.\n")
    os._exit(130)


def handle():
    """Have Ctrl-C end the run with a sentence until `leave_to_snakemake`.

    If it is ignored, as in a background job, it stays so; only the main thread may set a handler.
    """
    is_main_thread = threading.current_thread() is threading.main_thread()
    if is_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupted)


def leave_to_snakemake():
    """From now on Snakemake ends its jobs on Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is interrupted:
        signal.signal(signal.SIGINT, signal.default_int_handler)
