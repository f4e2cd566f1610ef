"""What another group's report on the assignment of the earlier study prints, whose own report has figures only.

Seconds of a training of ten epochs, of 30 June 2020, on a Tesla M2050 and a CPU that isn't named; by its own word the
time of `nn` on 24 threads is an outlier. Neither report says what its network or its batches were. OpenBLAS takes about
as long for all three forms, so that several layers were wide.
"""

from typing import NamedTuple

from ladder.report.telling.lines import Selection, select
from ladder.workloads.mlp.paper.lines import THREADS

# {product: {form, or the whole training: seconds on THREADS}}.
ON_HOST = {
    "openmp": {
        "nn": (634, 335, 249, 241, 121, 251),
        "tn": (1084, 569, 305, 233, 141, 143),
        "nt": (397, 205, 105, 70.5, 44.2, 40.8),
        "whole": (2131, 1125, 676, 563, 331, 467),
    },
    "blas": {
        "nn": (67, 36, 20, 18, 12, 11),
        "tn": (83, 46, 26, 21, 16, 17),
        "nt": (79, 43, 23, 22, 15, 14),
        "whole": (245, 143, 88, 81, 64.8, 75.1),
    },
}
# {product: {form, or the whole training: seconds}}; `cuda_shared` with shared memory of static size.
ON_GPU = {
    "cuda_naive": {"nn": 27.6, "tn": 27.5, "nt": 104.9, "whole": 180.5},
    "cuda_shared": {"nn": 17.6, "tn": 18.7, "nt": 29.6, "whole": 85.8},
    "cublas": {"nn": 14.2, "tn": 10.1, "nt": 21.4, "whole": 66.0},
}


class Then(NamedTuple):
    """A time of then, the same form today, and the form that our ladder of the same device ends with.

    The time over that of the same form is the gain by hardware; from there to the best form is the gain by code. Where
    the work isn't known to be the same, as here, only a ratio of two times of then compares with a ratio of today.
    """

    words: str
    seconds: float
    form: Selection
    best: Selection
    is_same_work: bool = False


THEN = [
    *(
        Then(f"{name}, {count} threads", seconds, select(f"deep/{name}", threads=count), select("deep/blas", threads=count))
        for name, times in ON_HOST.items()
        for count, seconds in zip(THREADS, times["whole"], strict=True)
    ),
    *(Then(name, times["whole"], select(f"deep/{name}"), select("deep/cuda_mma")) for name, times in ON_GPU.items()),
]
