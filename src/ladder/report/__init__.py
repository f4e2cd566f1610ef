"""From records to tables, figures and the paper."""

# The tidy tables of an experiment; `collect` says what each of them holds.
TABLES = ("samples", "checks", "curves", "traces", "missing")
# The suffix of a machine's name in the tables if its measurements are published; text and figures show a mark.
PUBLISHED = " (published)"
