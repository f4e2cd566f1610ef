"""On PYTHONPATH, it shifts the time of day of every Python by FAULT_CLOCK seconds, as a clock that is reset does."""

import os
import time

shift = float(os.environ.get("FAULT_CLOCK", "0"))
seconds, nanoseconds = time.time, time.time_ns
time.time = lambda: seconds() + shift
time.time_ns = lambda: nanoseconds() + int(shift * 1e9)
