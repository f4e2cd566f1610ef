"""The passes in which `cuda_version2` sums up a row, each of which leaves one sum for every `load` elements."""


def lengths(n, load):
    """What is left of a row of n elements after each pass, down to 1; one pass at least."""
    found = [-(-n // load)]
    while found[-1] > 1:
        found.append(-(-found[-1] // load))
    return found
