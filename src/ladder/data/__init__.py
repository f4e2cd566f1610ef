"""Data sets of handwritten digits: reading, writing and downloading them."""
