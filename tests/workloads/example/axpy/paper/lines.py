"""Where the chapter's measurements come from, and the lines of its ladder."""

from ladder.report.telling.lines import MAX, Line, Needs, Source

SOURCES = {"sums": Source("host", "axpy_threads", elements=1000)}
MACHINES = {"host": Needs(("sums",))}
UNIT = "Sum"
LINES = {
    "vectorised": Line("vectorised", {}, "sums", "two passes over memory"),
    "parallel": Line("parallel", {"threads": MAX}, "sums", "one pass on all threads", "memory, cores"),
}
