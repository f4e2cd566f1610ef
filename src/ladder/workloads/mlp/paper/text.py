"""Functions of this chapter's text beside those of every chapter."""

from ladder.report.latex import enumeration, num, percent, seconds
from ladder.report.telling.chapter_study import NotMeasured, phase_times, required
from ladder.store.study import middle, values, where
from ladder.workloads import gemm, mlp
from ladder.workloads.mlp.paper import claims, lines

PRODUCT = gemm.cost(lines.SOURCES["products"].conditions)
BATCH = lines.SOURCES["training"].conditions
FLOPS = mlp.cost({"rate": 1.0} | BATCH).flops / lines.batches(BATCH)


def best_threads(study):
    """The number of threads that was best in the earlier study or, where it wasn't measured, the largest."""
    counts = required(values(study.frame("training"), "threads"))
    return lines.BEST if lines.BEST in counts else counts[-1]


def share_of_products(study, product, threads, digits=2):
    """The share of products in an epoch on some number of threads."""
    return percent(claims.share_of(claims.products_over_the_rest(study, claims.training(product, threads))), digits)


def operations(study, selection):
    """The sum of the operations, each timed separately."""
    return seconds(required(sum(phase_times(study.phases(selection)).values()) or None), 2)


def copies(study):
    """The time of the copies to the GPU and back."""
    with_copies = claims.add_copies(study, claims.FEW_IMAGES)
    return seconds(middle(with_copies) - middle(study.rows(claims.FEW_IMAGES)), 2)


def last_epochs(study):
    """The points of the learning curves at the trainings' last epochs."""
    curves = required(study.machine("learner").rows("curves", "mlp_accuracy"))
    return curves[curves["epoch"] == curves["epochs"]]


def training_sizes(study, column):
    """The values of a column, such as epochs or images, of these trainings."""
    return enumeration(num(count) for count in values(last_epochs(study), column))


def accuracies(study, dtype):
    """The accuracies at which the trainings end, as the predicate of a sentence."""
    ends = [percent(value, 4) for value in values(where(last_epochs(study), dtype=dtype), "accuracy")]
    if not ends:
        raise NotMeasured("have no measurement")
    span = f"end at accuracies from {ends[0]} to {ends[-1]}"
    return f"all end at an accuracy of {ends[0]}" if ends[0] == ends[-1] else span


def worst_loss(study, dtype):
    """The largest distance of a loss from the reference's, in per cent of its bound."""
    rows = required(where(last_epochs(study), dtype=dtype))
    return percent(((rows["loss"] - rows["reference_loss"]).abs() / rows["loss_bound"]).max(), 2)
