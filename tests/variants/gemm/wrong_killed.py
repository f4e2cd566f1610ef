"""Wrong on purpose: is killed, as by a machine out of memory."""

import os
import signal

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):

    return lambda: os.kill(os.getpid(), signal.SIGKILL)
