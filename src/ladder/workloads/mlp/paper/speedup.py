"""Speed-up of the training by the number of threads."""

from ladder.report.figures import by_threads
from ladder.workloads.mlp.paper import problem

TITLE = "Speed-up of the training by threads"
CATEGORY = "MLP"
CAPTION = """\
Speed-up of the whole training by the number of threads, each method against its own time on one thread, which stands
in the panel in the method's colour. Ratios of medians with 95 % intervals; the line is the ideal.
"""
EXPERIMENTS = ("mlp_threads",)


def draw(tables):
    """A panel per machine and training."""
    return by_threads.speedups(tables["mlp_threads"], "trainings", problem.title)
