"""On PYTHONPATH, it shifts the time of day of every Python by FAULT_CLOCK seconds, as a clock that is reset does."""

import os
import time

shift = float(os.environ.get("FAULT_CLOCK", "0"))
real_time, real_time_ns = time.time, time.time_ns
time.time = lambda: real_time() + shift
time.time_ns = lambda: real_time_ns() + int(shift * 1e9)
