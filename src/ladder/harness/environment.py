"""The environment of a worker, built from scratch instead of inherited.

It holds the variables that every process needs (`machine/variables.py`), those of the device and the variant, and those
that the configuration sets for the case. Anything else set by a user, a login shell or a notebook is dropped. Runtimes
read their variables once, when they are loaded, so all are set before the worker starts.
"""

import os
import sys
from pathlib import Path

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.machine import processes, variables

# Numba reads it from the working directory, and it overrides the environment.
NUMBA_FILE = Path(".numba_config.yaml")


def of_worker(case, prelude=()):
    """The environment of a case's worker; the mapping `prelude` holds what a cluster node's prelude has set.

    Raises LadderError if a file of the user's would override it.
    """
    if NUMBA_FILE.exists():
        raise LadderError(
            f"{NUMBA_FILE.absolute()} would change how Numba compiles what is measured: move it elsewhere, and set "
            "such variables with the key `environment` of the configuration."
        )
    overrides = {**dict(prelude), **case.variables}
    environment = {
        **variables.inherited(),
        **dict(prelude),
        **devices.of(case).environment(case.threads, overrides),
        **workloads.environment(case),
        **case.variables,
    }
    return environment | {"NUMBA_CACHE_DIR": str(compilation.folder(case, environment))}


def of_verb(threads):
    """The environment of a verb that computes on this number of threads, without measuring."""
    return variables.inherited() | devices.load("host").environment(threads)


def enter(environment):
    """Restart this process in an environment, unless it is in it already."""
    if environment != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment | processes.run_parents)
