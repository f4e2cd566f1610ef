"""Functions of this chapter's text in addition to those of every chapter."""

from ladder.report import latex
from ladder.report.telling.functions import largest, ratio_of_verdicts
from ladder.report.telling.lines import select
from ladder.store import rates
from ladder.store.study import median_time
from ladder.workloads.backprop import cost
from ladder.workloads.backprop.paper.claims import CHANGE_AND_REST
from ladder.workloads.backprop.paper.lines import SIZE

ERROR_OF_MEAN = 0.45  # of an image if a network predicts the mean, 0.1 for every digit: 0.5 (0.9^2 + 9 0.1^2)
TRAININGS = (select("tuned", "learning"), select("numpy_loop", "learning"), select("cuda_fused", "learning on a GPU"))
FLOPS = cost({"rate": 1.0, "momentum": 0.8, **SIZE}).flops / SIZE["images"]  # of an image in an epoch


def share_of_weight_change(study):
    """The share of the weight change in an epoch of `before`, on the machine on which the verdict rests."""
    ratio = ratio_of_verdicts(study, *CHANGE_AND_REST).value
    return latex.percent(ratio / (1 + ratio), 2)


def efficiency_of_products(study):
    """The parallel efficiency of the best products on all threads, which clock rates and neighbours limit."""
    count = largest(study, "tuned on most threads", "threads")
    single, several = (rates.products(study.machine("widest"), SIZE["dtype"], threads) for threads in (1, count))
    return latex.percent(several / single / count, 2) if single and several else None


def epochs_to_error(study):
    """The epochs until the error is below ERROR_OF_MEAN, in the first of TRAININGS that gets there."""
    return latex.num(count) if (count := first_epoch_below_error(study)) else None


def time_to_error(study, selection):
    """The time that a training takes for the epochs of `epochs_to_error`."""
    count = first_epoch_below_error(study)
    return latex.seconds(count * median_time(study.rows(selection)), 2) if count else None


def first_epoch_below_error(study):
    """The number of this epoch in the first of TRAININGS that gets below ERROR_OF_MEAN; None if none does."""
    for selection in TRAININGS:
        rows = study.find(selection)
        curve = study.machine_of(selection).of_case("curves", rows)
        epochs = curve[curve["loss"] < ERROR_OF_MEAN * rows["images"].iloc[0]]["epoch"] if len(curve) else ()
        if len(epochs):
            return int(min(epochs))
    return None
