"""The time of a gigabyte of the matrix, rung by rung, with speed-ups: from one core to several GPUs."""

from ladder.report.telling.ladder import waterfall_of

TITLE = "What each rung of the matrix-vector product gains"
CAPTION = """\
Time per gigabyte of the matrix, rung by rung. A dot is the median of a process, a tick the model's time, which counts
three times the bytes of a matrix sent to ranks. The wide line is the time at the bandwidth of all GPUs. On the right:
the median of the dots, and the speed-up over the rung above in the same group of the table, with its 99 % interval.
"""
EXPERIMENTS = ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards", "gemv_cards_large", "ceiling_gpu_bandwidth")
USES_CEILINGS = True

draw = waterfall_of("{dtype}", "time of a gigabyte", "memory of all GPUs")
