"""Descriptions of the columns that descent_kernel's sizes and tunings have in the tables."""

COLUMNS = {
    "kernel": "the kernel that is timed",
    "n": "rows and columns of the matrix, elements of a vector",
    "load": "elements that a thread sums in each pass of a reduction; 0: as many as in the earlier study",
    "launch": "right: grid and block as intended; study: exchanged, as in the earlier study",
}
