"""What this chapter's text asks for beside what every chapter's may."""

from ladder.report.latex import listed, num, percent, seconds
from ladder.report.study import middle, values, where
from ladder.report.telling.chapter_study import NotMeasured, nearest, phase_times
from ladder.workloads import gemm, mlp
from ladder.workloads.mlp.paper import claims, lines, model


def size(study, source, *columns):
    """Sizes of a source's problem: one number, a power, or a product."""
    sizes = [str(nearest("source", source, study.sources).conditions[name]) for name in columns]
    if len(sizes) == 1:
        return num(sizes[0])
    product = f"{sizes[0]}^{len(sizes)}" if len({*sizes}) == 1 else r" \times ".join(sizes)
    return f"${product}$"


def layers(study):
    """The layers of the network."""
    return lines.NETWORK["layers"].replace("-", "--")


def flops(study, source):
    """FLOPs of a source's product, or of the products of a batch of its training."""
    sizes = nearest("source", source, study.sources).conditions
    training = "batch" in sizes
    one = mlp.cost({"rate": 1.0} | sizes).flops / lines.batches(sizes) if training else gemm.cost(sizes).flops
    return f"\\qty{{{one / 1e6:.0f}}}{{MFLOP}}"


def product_bytes(study):
    """The bytes that the network's product moves at least."""
    return f"\\qty{{{gemm.cost(study.sources['products'].conditions).bytes / 1e6:.0f}}}{{\\mega\\byte}}"


def assumed(study, name):
    """What the model assumes."""
    every = {
        "chained": num(model.CHAINED),
        "L2 cache": f"\\qty{{{model.SECOND_CACHE / 1e9:.0f}}}{{\\giga\\bytes}}",
        "loads": num(model.LOADS),
        "kernels": num(model.kernels(lines.NETWORK)),
        "node": seconds(model.NODE, 2),
    }
    return nearest("assumption", name, every)


def on(study, product, threads):
    """The epochs on the host by a product on so many threads."""
    return claims.on(product, threads)


def best_threads(study):
    """As many threads as the earlier study was best on or, where that wasn't measured, the most."""
    counts = values(study.frame("training"), "threads")
    if not counts:
        raise NotMeasured
    return lines.BEST if lines.BEST in counts else counts[-1]


def fewer_threads(study):
    """The threads below the most of the machine that has trained on most, if these are more than the host's."""
    counts, others = (values(study.frame(name), "threads") for name in ("widest", "training"))
    if len(counts) < 2 or counts[-1] <= max(others, default=0):
        raise NotMeasured
    return counts[-2]


def share_of_products(study, product, threads, digits=2):
    """The share of products in an epoch on so many threads."""
    return percent(claims.part(claims.products_over_the_rest(study, claims.on(product, threads))), digits)


def operations(study, selection):
    """What the operations take together, timed apart."""
    times = phase_times(study.phases(selection))
    if not times:
        raise NotMeasured
    return seconds(sum(times.values()), 2)


def copies(study):
    """What the copies to the GPU and back take."""
    longer = claims.with_copies(study, claims.FEW_IMAGES)
    return seconds(middle(longer) - middle(study.rows(claims.FEW_IMAGES)), 2)


def last_epochs(study):
    """The last epochs of the trainings to the end."""
    curves = study.machine("learner").rows("curves", "mlp_accuracy")
    if curves.empty:
        raise NotMeasured
    return curves[curves["epoch"] == curves["epochs"]]


def learned(study, column):
    """The number of epochs, or of images, that they learn from."""
    return listed(num(count) for count in values(last_epochs(study), column))


def accuracies(study, dtype):
    """The accuracies at which the trainings end, as the predicate of a sentence."""
    ends = [percent(value, 4) for value in values(where(last_epochs(study), dtype=dtype), "accuracy")]
    if not ends:
        raise NotMeasured("have no measurement")
    is_one = ends[0] == ends[-1]
    return f"all end at an accuracy of {ends[0]}" if is_one else f"end at accuracies from {ends[0]} to {ends[-1]}"


def worst_loss(study, dtype):
    """How far a loss is from the reference's at most, in per cent of its bound."""
    rows = where(last_epochs(study), dtype=dtype)
    if rows.empty:
        raise NotMeasured
    return percent(((rows["loss"] - rows["reference_loss"]).abs() / rows["loss_bound"]).max(), 2)
