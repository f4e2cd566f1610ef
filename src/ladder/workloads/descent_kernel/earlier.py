"""The earlier study's table: milliseconds of each kernel on its GPU, in float32. The GPU and the year are unknown.

Its rates count only the elements that a kernel writes, 4 bytes each, and not the whole traffic; `elements_written`
returns the number of these elements.
"""

from ladder.workloads.descent_kernel.passes import lengths

# Version 2: block, n and load of each column. The load, the number of elements that a thread summed, is inferred: n was
# a power of it. If several are possible (n = 64 and 256), it is the smallest.
COLUMNS = ((32, 16, 4), (32, 64, 4), (32, 144, 12), (128, 64, 4), (128, 256, 4), (512, 256, 4), (512, 512, 8))
VERSION2 = {
    "init": (0.01875, 0.0217, 0.01974, 0.02067, 0.02339, 0.02294, 0.0511),
    "product": (0.00832, 0.00912, 0.02205, 0.009792, 0.0529, 0.05059, 0.1892),
    "reduction": (0.01523, 0.01635, 0.01994, 0.01734, 0.04221, 0.05955, 0.1241),
    "transpose": (0.006688, 0.007584, 0.01405, 0.0088, 0.02714, 0.0265, 0.09363),
    "scale": (0.008672, 0.009152, 0.008512, 0.00992, 0.01104, 0.01325, 0.01354),
    "vecdif": (0.006912, 0.006624, 0.006752, 0.007744, 0.0104, 0.01386, 0.01302),
    "vecsum": (0.006816, 0.00688, 0.009536, 0.007648, 0.02141, 0.0217, 0.064),
}
# Version 1: n = 32.
VERSION1 = {
    "product": 0.008448,
    "reduction": 0.007648,
    "transpose": 0.006656,
    "scale": 0.008,
    "vecdif": 0.00672,
    "vecsum": 0.006592,
}


def elements_written(kernel, n, load):
    """The number of elements that a kernel of version 2 writes, for a reduction in all passes."""
    if kernel == "reduction":
        return n * sum(lengths(n, load))
    return {"init": n * n + n, "product": n * n, "dot": 1}.get(kernel, n)


def rows():
    """The table as (kernel, version, block, n, load, milliseconds); version 1 has neither a block nor a load."""
    for kernel, times in VERSION2.items():
        for (block, n, load), milliseconds in zip(COLUMNS, times, strict=True):
            yield kernel, 2, block, n, load, milliseconds
    for kernel, milliseconds in VERSION1.items():
        yield kernel, 1, None, 32, None, milliseconds
