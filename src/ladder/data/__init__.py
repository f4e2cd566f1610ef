"""Data sets: reading, writing, fetching."""
