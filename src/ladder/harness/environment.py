"""The environment of a worker: it inherits only what every process needs.

It holds the variables that every process needs (`machine/variables.py`), those of the device and the variant, and those
that the configuration sets for the case. All other variables of the user, a login shell or a notebook are dropped.
Runtimes read their variables only when they are loaded, so all are set before the worker starts.
"""

import os
import sys
from pathlib import Path

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import traits
from ladder.errors import LadderError
from ladder.machine import processes, variables

# A file in the working directory whose settings override Numba's environment variables.
NUMBA_FILE = Path(".numba_config.yaml")


def of_worker(case, prelude=()):
    """The environment of a case's worker; the mapping `prelude` holds the variables set by a cluster node's prelude.

    Raises LadderError if NUMBA_FILE exists, which would override it.
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
        **traits.environment(case),
        **case.variables,
    }
    return environment | {"NUMBA_CACHE_DIR": str(compilation.folder(case, environment))}


def of_verb(threads):
    """The environment of a verb that computes on `threads` threads but measures nothing."""
    return variables.inherited() | devices.load("host").environment(threads)


def enter(environment):
    """Restart this process in an environment, unless it already has this environment."""
    if environment != dict(os.environ):  # which no longer has LADDER_PARENT
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment | processes.job_variables)
