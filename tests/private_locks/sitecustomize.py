"""Locks of their own for the processes that tests start: Python runs this as it starts, if PYTHONPATH has this folder.

So a test waits for no measurement elsewhere on the machine, nor for another test. Only this file reads
LADDER_TESTS_LOCKS, so users can't let two measurements run at once by setting it.
"""

import os
from contextlib import suppress
from pathlib import Path

with suppress(ImportError, KeyError):
    folder = Path(os.environ["LADDER_TESTS_LOCKS"])
    from ladder.records import locks

    locks.FOLDERS = (folder,)
