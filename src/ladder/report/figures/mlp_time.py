"""Time of an epoch of the training by the number of threads."""

from ladder.report.figures import by_threads, medians

TITLE = "Time of the training by threads"
CATEGORY = "MLP"
EXPERIMENTS = ("mlp_threads",)


def draw(tables):
    """A panel per machine and training."""
    return by_threads.times(tables["mlp_threads"], "trainings", medians.training, "time of an epoch")
