"""The passes of `cuda_version2`'s reduction of a row, each of which produces one sum per `load` elements."""


def lengths(n, load):
    """The length of a row of n elements after each pass; the last is 1, and there is at least one pass."""
    passes = [-(-n // load)]
    while passes[-1] > 1:
        passes.append(-(-passes[-1] // load))
    return passes
