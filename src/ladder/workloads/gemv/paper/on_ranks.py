"""What the figures of products on ranks share: their cases by mode, and how phases look."""

from ladder.report.figures import formats, looks, medians
from ladder.workloads.gemv.paper.distributed import BOTH, COMMUNICATION, COMPUTATION

MODES = {"ship": "the matrix is sent every time", "resident": "the matrix stays"}
CASE = ("method", "case", "ranks", "threads")
# What isn't listed has the colour of its kind.
COLOURS = {
    "scatter": looks.COLOURS["blue"],
    "broadcast": looks.COLOURS["sky"],
    "compute": looks.COLOURS["green"],
    "gather": looks.COLOURS["orange"],
}
KINDS = {COMPUTATION: looks.COLOURS["green"], COMMUNICATION: looks.COLOURS["blue"], BOTH: looks.COLOURS["pink"]}


def cases(rows, mode):
    """A row per case of a mode: the columns of CASE and the summary of its times; ranks and threads are numbers."""
    found = medians.summaries(rows[rows["mode"] == mode], CASE)
    return found.sort_values(["ranks", "threads"])


def where(case):
    """Where a case runs: `4 ranks`, `2 × 8 threads`, `4 GPUs`."""
    if "cublas" in case["method"]:
        return "1 GPU" if case["ranks"] == 1 else f"{case['ranks']} GPUs"
    if case["method"] == "mpi":
        return "1 rank" if case["ranks"] == 1 else f"{case['ranks']} ranks"
    return f"{case['ranks']} × {formats.threads(case['threads'])}"
