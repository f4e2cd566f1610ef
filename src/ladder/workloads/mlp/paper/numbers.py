"""The numbers of the training: by threads and product, against its peers, what it learns, and on a card."""

from ladder.report import latex, study
from ladder.report.latex import listed, number, percent
from ladder.report.phrases import (
    Missing,
    caches,
    number_of_cases,
    pairs,
    scaling,
    span,
    thread_count,
    time_of,
    with_prefix,
)
from ladder.workloads.mlp import SIZES
from ladder.workloads.mlp.paper import numbers_findings, numbers_gpu
from ladder.workloads.mlp.paper.operations import KINDS, shares_of

PRODUCTS = ("openmp", "interchanged", "tiled", "blas")
DTYPES = SIZES["dtype"]
PEERS = {
    "tiled": {"variant": "host", "product": "tiled"},
    "blas": {"variant": "host", "product": "blas"},
    "numpy_loop": {"variant": "numpy_loop"},
    "pytorch": {"variant": "pytorch"},
}


def numbers(found):
    """Every key's value."""
    parts = (
        with_prefix("threads", threads(found)),
        with_prefix("peers", peers(found)),
        with_prefix("accuracy", accuracy(found)),
        numbers_gpu.numbers(found),
        with_prefix("findings", numbers_findings.findings(found)),
    )
    return with_prefix("mlp", {key: value for part in parts for key, value in part.items()})


def threads(found):
    """The training by threads and product, and where its time goes."""
    frame = study.one_size(found.samples("mlp_threads", dtype="float64", device="host"))
    cases = {product: study.by_threads(study.where(frame, product=product)) for product in PRODUCTS}
    values = {
        "threads": listed(study.values(frame, "threads")) or None,
        "cache": caches(frame),
        "cases": number_of_cases(found, "mlp_threads", device="host"),
    }
    values |= training(frame)
    for product, counts in cases.items():
        values |= with_prefix(product, scaling(counts))
        passes = shares_of(found, product, 1)
        shares = {name: passes[name].median() for name in passes} if len(passes) else {}
        for name in (*KINDS, "products", "rest"):
            values[f"{product}/share/{name}"] = percent(shares[name]) if shares else None
    one = {product: counts.get(1, study.NO_ROWS) for product, counts in cases.items()}
    best = {product: study.best_of(counts) for product, counts in cases.items()}
    return values | pairs(one, "/one") | pairs(best, "/best")


def training(frame):
    """The sizes of a training as the text gives them."""
    names = ("layers", "images", "batch", "source")
    if frame.empty:
        return dict.fromkeys(names)
    row = frame.iloc[0]
    return {
        "layers": latex.escape(row["layers"]).replace("-", "--"),
        "images": f"\\num{{{row['images']}}}",
        "batch": f"\\num{{{row['batch']}}}",
        "source": data_set_name(row["source"]),
    }


def data_set_name(name):
    """What the text calls a data set."""
    return {"mnist": "MNIST", "digits": "the offline digits"}.get(name, latex.escape(name))


def peers(found):
    """The training against the peers, for the smallest and the largest batch, each at its best thread count."""
    frame = found.samples("mlp_peers", dtype="float64")
    batches = study.values(frame, "batch")
    roles = {"small": batches[:1], "large": batches[1:][-1:]}
    values = {"cache": caches(frame), "cases": number_of_cases(found, "mlp_peers", device="host")}
    for role, batch in roles.items():
        here = study.one_size(study.where(frame, batch=batch[0] if batch else None))
        values[f"{role}/batch"] = f"\\num{{{batch[0]}}}" if batch else None
        cases = {name: study.best_of(study.by_threads(study.where(here, **chosen))) for name, chosen in PEERS.items()}
        for name, rows in cases.items():
            values |= with_prefix(f"{role}/{name}", time_of(rows))
            counts = study.values(rows, "threads")
            values[f"{role}/{name}/threads"] = thread_count(counts[0]) if counts else None
        values |= with_prefix(role, pairs(cases))
    return values


def accuracy(found):
    """What the trainings have learned."""
    curves = found.rows("curves", "mlp_accuracy")
    last = curves[curves["epoch"] == curves["epochs"]] if len(curves) else curves
    distance = (last["loss"] - last["reference_loss"]).abs() / last["loss_bound"] if len(last) else None
    values = training(last) | {"cases": number_of_cases(found, "mlp_accuracy", device="host")}
    values["epochs"] = span(study.values(last, "epochs"))
    values["trainings"] = f"\\num{{{study.count(last)}}}" if len(last) else None
    for dtype in DTYPES:
        here = study.where(last, dtype=dtype)
        ends = [percent(value, 4) for value in study.values(here, "accuracy")]
        values[f"{dtype}/accuracy"] = agreement(ends)
        for product in PRODUCTS:
            rows = study.where(here, product=product)
            reached = study.values(rows, "accuracy")
            values[f"{product}/{dtype}/accuracy"] = percent(reached[0], 4) if reached else None
            values[f"{product}/{dtype}/loss"] = number(rows["loss"].median(), 4) if len(rows) else None
        values[f"{dtype}/worst-loss"] = percent(distance[here.index].max()) if len(here) else None
    return values


def agreement(ends):
    """The predicate of the accuracies at which some trainings end."""
    if not ends:
        return Missing("have no measurement")
    if ends[0] == ends[-1]:
        return f"all end at an accuracy of {ends[0]}"
    return f"end at accuracies from {ends[0]} to {ends[-1]}"
