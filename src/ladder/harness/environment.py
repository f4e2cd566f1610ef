"""The environment of a worker, which is made and not inherited.

A worker has what every process needs (`machine/variables.py`), what its device and its variant set, and what the
configuration names for its case. Whatever else a user, a login shell or a notebook has set is dropped. Runtimes read
their variables once, when they are loaded, so that all are set before the worker starts.
"""

import os
import sys
from pathlib import Path

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import workloads
from ladder.devices import host
from ladder.errors import LadderError
from ladder.machine import processes, variables

# Numba reads it in the working directory, and takes it for more than the environment.
NUMBA_FILE = Path(".numba_config.yaml")


def of_worker(case, prelude=()):
    """The environment of a case's worker; `prelude`, a mapping, is what the prelude of a cluster's node has set.

    Raises LadderError where a file of the user's would change it.
    """
    if NUMBA_FILE.exists():
        raise LadderError(
            f"{NUMBA_FILE.absolute()} would change how Numba compiles what is measured: move it elsewhere, and name "
            "such variables by the key `environment` of the configuration."
        )
    made = {
        **variables.inherited(),
        **dict(prelude),
        **devices.of(case).environment(case.threads),
        **workloads.environment(case),
        **case.variables,
    }
    return made | {"NUMBA_CACHE_DIR": str(compilation.folder(case, made))}


def of_verb(threads):
    """The environment of a verb that computes and doesn't measure, on so many threads."""
    return variables.inherited() | host.environment(threads)


def enter(made):
    """Have this process start again in an environment, unless it is in it already."""
    if made != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], made | processes.joined)
