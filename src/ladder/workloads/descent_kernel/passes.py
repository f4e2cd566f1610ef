"""The passes of `cuda_version2`'s reduction of a row, each of which produces one sum per `load` elements."""

LOADS = 12, 8, 4  # elements per thread in the earlier study


def pass_lengths(n, load):
    """The length of a row of n elements after each pass; the last is 1, and there is at least one pass."""
    passes = [-(-n // load)]
    while passes[-1] > 1:
        passes.append(-(-passes[-1] // load))
    return passes


def study_load(n):
    """The elements that a thread sums in the earlier study: the largest of LOADS of which n is a power, else 4.

    In the study, n had to be such a power; its branch for 16 elements per thread was never reached.
    """
    return next((load for load in LOADS if load ** len(pass_lengths(n, load)) == n), LOADS[-1])
