"""Functions of this chapter's text in addition to those of every chapter."""

import itertools

from ladder.report import ratios
from ladder.report.latex import enumeration, num, percent, seconds
from ladder.report.telling.chapter_study import NotMeasured, require_measured
from ladder.store.study import phase_times, values, where
from ladder.workloads import mlp
from ladder.workloads.mlp.paper import claims, lines

DEEP = lines.SOURCES["deep"].conditions
FLOPS = mlp.cost({"rate": 1.0} | DEEP).flops / lines.batches(DEEP)  # of a batch
LAYER_WEIGHTS = [fan_in * fan_out for fan_in, fan_out in itertools.pairwise(mlp.reference.layer_sizes(DEEP))]
WEIGHTS = sum(LAYER_WEIGHTS)  # their number, without biases
MULTIPLY_ADDS = {"nn": WEIGHTS, "tn": WEIGHTS, "nt": WEIGHTS - LAYER_WEIGHTS[0]}  # multiply-adds per image, by form


def cores(study):
    """The number of cores of the chapter's host."""
    return num(require_measured(study.machine("host").description.get("cores")))


def share_of_products(study, selection, digits=2):
    """The share of products in a training."""
    return percent(claims.share_of(claims.products_over_the_rest(study, selection)), digits)


def sum_of_operations(study, selection):
    """The time of all operations added up, each timed separately."""
    return seconds(require_measured(sum(phase_times(study.phases(selection)).values()) or None), 2)


def per_flop(study, selection, form, other):
    """The time per FLOP of a training's products of a form over that of another form."""
    ratio = study.ratio(selection.phase(form), selection.phase(other))
    return ratios.prose(ratio.times(MULTIPLY_ADDS[other] / MULTIPLY_ADDS[form]))


def last_epochs(study):
    """The points of the learning curves at the trainings' last epochs."""
    curves = require_measured(study.machine("learner").rows("curves", "mlp_accuracy"))
    return curves[curves["epoch"] == curves["epochs"]]


def training_sizes(study, column):
    """The values of a column, such as epochs or images, of the trainings with learning curves."""
    return enumeration(num(count) for count in values(last_epochs(study), column))


def accuracies(study, dtype):
    """The accuracies at which the trainings end, as the predicate of a sentence."""
    percentages = [percent(value, 4) for value in values(where(last_epochs(study), dtype=dtype), "accuracy")]
    if not percentages:
        raise NotMeasured("have no measurement")
    span = f"end at accuracies from {percentages[0]} to {percentages[-1]}"
    return f"all end at an accuracy of {percentages[0]}" if percentages[0] == percentages[-1] else span


def worst_loss(study, dtype):
    """The largest distance of a loss from the reference's, in per cent of its bound."""
    rows = require_measured(where(last_epochs(study), dtype=dtype))
    return percent(((rows["loss"] - rows["reference_loss"]).abs() / rows["loss_bound"]).max(), 2)
