"""The passes of `cuda_version2`'s reduction of a row, each of which produces one sum per `load` elements."""


def lengths(n, load):
    """The length of a row of n elements after each pass, down to 1, with at least one pass."""
    found = [-(-n // load)]
    while found[-1] > 1:
        found.append(-(-found[-1] // load))
    return found
