"""Measurements as tables: collected from records, published, read back and queried; ceilings and rates of machines."""

# The tidy tables of an experiment; `collect` says what each of them holds.
TABLES = ("samples", "checks", "curves", "traces", "missing")
# The suffix of a machine's name in the tables if its measurements are published; text and figures show a mark.
PUBLISHED_SUFFIX = " (published)"
# The table of kernels' counters in the folder of a published machine.
COUNTERS_FILE = "counters.csv.gz"
