"""Time of the sums by the number of threads."""

from ladder.report.figures import by_threads

TITLE = "Time of scaled sums by threads"
CATEGORY = "AXPY"
CAPTION = "Time of `axpy` by the number of threads."
EXPERIMENTS = ("axpy_threads",)


def draw(tables):
    """A panel per machine and length."""
    return by_threads.times(tables["axpy_threads"], "sums", lambda row: f"{row['elements']} elements", "time")
