"""What the figures of products on ranks share: their cases by mode, and how phases look."""

from ladder.report.distributed import BOTH, COMMUNICATION, COMPUTATION
from ladder.report.figures import medians, style

MODES = {"ship": "the matrix is sent every time", "resident": "the matrix stays"}
CASE = ("method", "case", "ranks", "threads")
# What isn't listed has the colour of its kind.
COLOURS = {"scatter": style.BLUE, "broadcast": style.SKY, "compute": style.GREEN, "gather": style.ORANGE}
KINDS = {COMPUTATION: style.GREEN, COMMUNICATION: style.BLUE, BOTH: style.PINK}


def cases(rows, mode):
    """A row per case of a mode: the columns of CASE and the summary of its times; ranks and threads are numbers."""
    found = medians.summaries(rows[rows["mode"] == mode], CASE)
    return found.sort_values(["ranks", "threads"])


def words(case):
    """Where a case runs: `4 ranks`, `2 × 8 threads`, `4 GPUs`."""
    if "cublas" in case["method"]:
        return "1 GPU" if case["ranks"] == 1 else f"{case['ranks']} GPUs"
    if case["method"] == "mpi":
        return "1 rank" if case["ranks"] == 1 else f"{case['ranks']} ranks"
    return f"{case['ranks']} × {style.threads(case['threads'])}"
