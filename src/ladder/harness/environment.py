"""The variables of the environment with which a worker starts: runtimes read theirs once, when they are loaded."""

import os

from ladder import devices
from ladder.build import compilation
from ladder.catalogue import workloads


def of_worker(case):
    """The environment of a worker: this process's own, what the case's device sets, then what its variant asks for."""
    return {
        "NUMBA_CACHE_DIR": str(compilation.folder(case)),
        **os.environ,
        **devices.of(case).environment(case.threads),
        **workloads.environment(case),
    }
