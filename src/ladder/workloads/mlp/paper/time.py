"""Time of an epoch of the training by the number of threads."""

from ladder.report.figures import by_threads
from ladder.workloads.mlp.paper import problem

TITLE = "Time of the training by threads"
CATEGORY = "MLP"
CAPTION = """\
Time of one epoch of the training by the number of threads, with the matrix products of each method. Medians with 95 %
intervals over fresh processes; a hollow marker is a case whose interval stayed wider than the target.
"""
EXPERIMENTS = ("mlp_threads",)


def draw(tables):
    """A panel per machine and training."""
    return by_threads.times(tables["mlp_threads"], "trainings", problem.title, "time of an epoch")
