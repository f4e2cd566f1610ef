"""Shift the time of day by FAULT_CLOCK seconds, as if the clock were reset.

Python runs this as it starts, if PYTHONPATH has this folder.
"""

import os
import time

shift = float(os.environ.get("FAULT_CLOCK", "0"))
real_time, real_time_ns = time.time, time.time_ns
time.time = lambda: real_time() + shift
time.time_ns = lambda: real_time_ns() + int(shift * 1e9)
