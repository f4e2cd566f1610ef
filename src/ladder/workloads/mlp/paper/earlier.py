"""The numbers of another group's report on the same assignment, since the earlier study's own has figures only.

Seconds of ten epochs, published on 30 June 2020, on a Tesla M2050 and a CPU that isn't named. By its own word the time
of `nn` on 24 threads is an outlier. Network and batches aren't known. OpenBLAS takes about as long for all three forms,
so several layers were wide.
"""

from ladder.report.telling.lines import EarlierTime, select

GPU = "Tesla M2050"
FORMS = ("nn", "tn", "nt", "whole")
# {product: {number of threads: seconds of each of FORMS}}, and {product: seconds} on a GPU; the shared memory of
# `cuda_shared` has a static size.
HOST_TIMES = {
    "openmp": {1: (634, 1084, 397, 2131), 2: (335, 569, 205, 1125), 4: (249, 305, 105, 676)}
    | {6: (241, 233, 70.5, 563), 12: (121, 141, 44.2, 331), 24: (251, 143, 40.8, 467)},
    "blas": {1: (67, 83, 79, 245), 2: (36, 46, 43, 143), 4: (20, 26, 23, 88)}
    | {6: (18, 21, 22, 81), 12: (12, 16, 15, 64.8), 24: (11, 17, 14, 75.1)},
}
GPU_TIMES = {"cuda_naive": (27.6, 27.5, 104.9, 180.5), "cuda_shared": (17.6, 18.7, 29.6, 85.8)}
GPU_TIMES |= {"cublas": (14.2, 10.1, 21.4, 66.0)}

# Their seconds may be those of other work than ours, so the speed-up by hardware isn't known, but that by code is.
EARLIER_TIMES = [
    EarlierTime("a batch by plain loops, 12 threads", None, *(select(f"deep/{key}", threads=12) for key in HOST_TIMES)),
    EarlierTime("a batch with shared memory", None, "deep/cuda_shared", "deep/cublas"),
]
