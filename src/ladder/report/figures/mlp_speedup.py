"""Speed-up of the training by the number of threads."""

from ladder.report.figures import by_threads, medians

TITLE = "Speed-up of the training by threads"
CATEGORY = "MLP"
EXPERIMENTS = ("mlp_threads",)


def draw(tables):
    """A panel per machine and training."""
    return by_threads.speedups(tables["mlp_threads"], "trainings", medians.training)
