"""The earlier study's report on its generator."""

from ladder.report.telling.lines import EarlierTime, select

YEAR = 2021
PARITY_GAIN = 1.5  # speed-up by loops that start at the right parity
BATCH = 100  # images in one product
# Its Table 4, seconds of a call; whether they include the set-up isn't said: {GPUs in two nodes: {images: seconds}}.
CALL_TIMES = {
    2: {10: 0.039, 100: 0.065, 880: 0.248, 1000: 0.278, 2224: 0.485, 2512: 0.536, 4856: 0.955, 5248: 1.014},
    4: {10: 0.088, 100: 0.102, 880: 0.197, 1000: 0.224, 2224: 0.362, 2512: 0.391, 4856: 0.603, 5248: 0.647},
    8: {10: 0.154, 100: 0.155, 880: 0.224, 1000: 0.236, 2224: 0.311, 2512: 0.333, 4856: 0.506, 5248: 0.504},
}
IMAGE_COUNTS = tuple(CALL_TIMES[2])
# Its rule of thumb: one GPU a node up to ONE_GPU_MAX images, two up to TWO_GPUS_MAX, four beyond.
ONE_GPU_MAX, TWO_GPUS_MAX = 200, 1000
COPY_TIME_OF_1000 = 60e-3  # seconds of the host's copy of 1000 pictures out of the staging buffer
# The study's GPUs are in two nodes, and its time may include the set-up; ours are in one node, and the times steady.
CALLS_NOW = [select(line, "ranks", ranks=2, images=5248) for line in ("ranks-then", "ranks")]
EARLIER_TIMES = [EarlierTime("5248 pictures on two GPUs", CALL_TIMES[2][5248], *CALLS_NOW)]
