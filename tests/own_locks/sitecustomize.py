"""Locks of their own for the processes that tests start: Python runs this as it starts, with this folder on its path.

So a test waits for no measurement elsewhere on the machine, nor for another test's, while users have no variable that
would have two measurements run at once.
"""

import os
from contextlib import suppress
from pathlib import Path

with suppress(ImportError, KeyError):
    folder = Path(os.environ["LADDER_TESTS_LOCKS"])
    from ladder.records import locks

    locks.FOLDERS = (folder,)
