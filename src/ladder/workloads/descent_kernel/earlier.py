"""The earlier study's tables: milliseconds of each kernel on its GPU, in float32. The GPU and the year are unknown.

A time is that of a kernel's only launch, between two events and without a warm-up. The study's rates count only the
bytes of the elements that a kernel writes, 4 each: `elements_written` returns these elements, `traffic` all bytes that
a kernel loads and stores.
"""

from ladder.workloads.descent_kernel import cost
from ladder.workloads.descent_kernel.passes import pass_lengths, study_load

# Version 2: (block, n) of each column. The study exchanged grid and block: what it calls block is the number of blocks.
COLUMNS = ((32, 16), (32, 64), (32, 144), (128, 64), (128, 256), (512, 256), (512, 512))
VERSION2 = {
    "init": (0.01875, 0.0217, 0.01974, 0.02067, 0.02339, 0.02294, 0.0511),
    "product": (0.00832, 0.00912, 0.02205, 0.009792, 0.0529, 0.05059, 0.1892),
    "reduction": (0.01523, 0.01635, 0.01994, 0.01734, 0.04221, 0.05955, 0.1241),
    "transpose": (0.006688, 0.007584, 0.01405, 0.0088, 0.02714, 0.0265, 0.09363),
    "scale": (0.008672, 0.009152, 0.008512, 0.00992, 0.01104, 0.01325, 0.01354),
    "vecdif": (0.006912, 0.006624, 0.006752, 0.007744, 0.0104, 0.01386, 0.01302),
    "vecsum": (0.006816, 0.00688, 0.009536, 0.007648, 0.02141, 0.0217, 0.064),
}
# Version 1, which has no time of `init`.
VERSION1_N = 32
VERSION1 = {
    "product": 0.008448,
    "reduction": 0.007648,
    "transpose": 0.006656,
    "scale": 0.008,
    "vecdif": 0.00672,
    "vecsum": 0.006592,
}


def elements_written(kernel, n, version=2):
    """The number of elements that a kernel writes, for a reduction of version 2 in all passes."""
    if kernel == "reduction" and version == 2:
        return n * sum(pass_lengths(n, study_load(n)))
    return n * n if kernel in ("init", "product") else n


def traffic(kernel, n, version=2):
    """The bytes that a kernel loads and stores, for a reduction of version 2 in all passes."""
    if kernel == "reduction" and version == 2:
        written = pass_lengths(n, study_load(n))
        return 4 * n * (n + sum(written[:-1]) + sum(written))
    return cost({"kernel": kernel, "n": n, "dtype": "float32"}).bytes
