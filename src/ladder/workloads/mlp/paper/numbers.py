"""The numbers of the chapter, about the machine or the two that it speaks of, and of what the trainings learn."""

from types import SimpleNamespace

from ladder.report import machines_table, ratios, study, verdict_table
from ladder.report.latex import code, listed, percent, rate, seconds
from ladder.report.phrases import Missing, span, with_prefix
from ladder.workloads import gemm, mlp
from ladder.workloads.backprop.paper.model import LOADS, SECOND_CACHE
from ladder.workloads.descent.paper.model import NODE
from ladder.workloads.mlp.paper import model, query, rungs, verdicts

ON_WIDE = ("blas", "openmp")
ONE, GRAPH, ALONE = {"threads": 1}, {"graph": "on"}, {"graph": "off"}


def numbers(found):
    """Every key's value."""
    host, card = query.chosen(found)
    parts = {
        "machine": machines_table.named(host.found, card.found),
        "problem": problem(),
        "model": of_the_model(),
        "host": products_on_the_host(host),
        "card": products_on_the_card(card),
        "training": trainings(host, card),
        "scaling": scaling(host) | on_many_threads(found, host),
        "parts": parts_of_a_batch(host, card),
        "learning": learning(found),
        "verdicts": verdict_table.numbers_of_groups(**verdicts.verdicts(found)),
    }
    return {f"mlp/{part}/{key}": value for part, values in parts.items() for key, value in values.items()}


def problem():
    """Work and bytes of the problems."""
    training = mlp.cost({"rate": 1.0, "dtype": "float64", **query.SIZES[query.CARD]})
    sizes = {name: gemm.cost({"dtype": "float64", **query.SIZES[name]}) for name in (query.PRODUCTS, query.SQUARE)}
    one = SimpleNamespace(**query.SIZES[query.PRODUCTS])
    return {
        "layers": query.NETWORK["layers"].replace("-", "--"),
        "batch": f"\\num{{{query.NETWORK['batch']}}}",
        "larger-batch": f"\\num{{{query.LARGER_BATCH}}}",
        "flops": f"\\qty{{{training.flops / batches() / 1e6:.0f}}}{{MFLOP}}",
        "images": f"\\num{{{query.SIZES[query.CARD]['images']}}}",
        "product": f"${one.m} \\times {one.n} \\times {one.k}$",
        "product-flops": f"\\qty{{{sizes[query.PRODUCTS].flops / 1e6:.0f}}}{{MFLOP}}",
        "product-bytes": f"\\qty{{{sizes[query.PRODUCTS].bytes / 1e6:.0f}}}{{\\mega\\byte}}",
        "large": f"${query.LARGE['m']}^3$",
    }


def batches():
    """How many batches an epoch over all images has."""
    sizes = query.SIZES[query.CARD]
    return sizes["images"] / sizes["batch"]


def of_the_model():
    """What the model assumes."""
    sizes = {"layers": query.NETWORK["layers"]}
    return {
        "chained": f"\\num{{{model.CHAINED}}}",
        "second-cache": f"\\qty{{{SECOND_CACHE / 1e9:.0f}}}{{\\giga\\bytes}}",
        "loads": f"\\num{{{LOADS}}}",
        "node": seconds(NODE, 2),
        "kernels": f"\\num{{{model.kernels(sizes)}}}",
    }


def timed(rows):
    """The seconds of a case, or None."""
    found = study.middle(rows)
    return None if found is None else seconds(found, 2)


def against(cases, *pairs):
    """What a case's time is of another's, as the predicate of a sentence, {<case>/against/<other>: words}."""
    return {
        f"{one}/against/{other}": ratios.compared(ratios.of(cases[other], cases[one]), name)
        for one, other, name in pairs
    }


def named(*pairs):
    """The same pairs with the code's name of the other."""
    return [(one, other, code(other)) for one, other in pairs]


def products_on_the_host(host):
    """The network's product on one thread, and on the most."""
    frame = host.samples(query.PRODUCTS)
    cases = {name: study.where(frame, variant=name, **ONE) for name in rungs.PRODUCTS}
    pairs = named(("interchanged", "openmp"), ("tiled", "interchanged"), ("tiled", "blas"), ("blas", "openmp"))
    values = {f"{name}/time": timed(rows) for name, rows in cases.items()} | against(cases, *pairs)
    return values | {"tiled/over/interchanged": ratios.prose(ratios.of(cases["interchanged"], cases["tiled"]))}


def products_on_the_card(card):
    """The large product on the card in float64, and the tensor cores on float32's operands."""
    double, single = card.samples(query.SQUARE), card.samples(query.SINGLE)
    cases = {line.variant: line.rows(double) for line in rungs.ON_CARD}
    values = {f"{name}/time": timed(rows) for name, rows in cases.items()}
    pairs = [("cuda_shared", "cuda_naive"), ("cuda_columns", "cuda_shared"), ("cuda_tiled", "cuda_shared")]
    pairs += [("cuda_mma", "cuda_tiled"), ("cuda_mma", "cublas")]
    values |= against(cases, *named(*pairs))
    for form in query.FORMS[1:]:
        frame = card.samples(query.SQUARE, form=form)
        told = against({line.variant: line.rows(frame) for line in rungs.ON_CARD}, ("cuda_shared", "cuda_naive", "it"))
        values |= with_prefix(form, told)
    for name in ("cuda_tiled", "cublas"):
        reached = rate_of(cases[name])
        values[f"{name}/rate"] = rate(reached, "flops", 2) if reached else None
    fused = study.best_rate(card.found.samples("ceiling_gpu_fma", dtype="float64"), "flops")
    reached = rate_of(cases["cuda_tiled"])
    values["cuda_tiled/share"] = percent(reached / fused, 2) if reached and fused else None
    products = card.samples(query.BY_ROWS, variant="cublas")
    for key, count in (("few", query.NETWORK["batch"]), ("many", query.SIZES[query.CARD]["images"])):
        reached = rate_of(study.where(products, m=count))
        values[f"rows/{key}"] = rate(reached, "flops", 2) if reached else None
    tf32 = {name: line.rows(single) for name, line in rungs.IN_TF32.items()}
    default = study.where(single, variant="cublas", math="default")
    values["tf32/gain"] = ratios.prose(ratios.of(default, tf32["cublas"]))
    return values | {
        f"tf32/{key}": value
        for key, value in against(tf32, ("cuda_mma", "cublas", f"{code('cublas')} in TF32")).items()
    }


def rate_of(rows):
    """FLOP/s of a product, or None."""
    return rows["flops"].iloc[0] / study.middle(rows) if len(rows) else None


def trainings(host, card):
    """A batch on the host and on the card, beside what others would use."""
    peers, by_batch = query.of_batches(host.samples(query.PEERS)), query.of_batches(host.training)
    on_card = query.of_batches(card.card)
    cases = {f"{name}/one": rungs.trained(by_batch, name, **ONE) for name in ("openmp", "tiled", "blas")}
    cases |= {"blas": rungs.trained(by_batch, "blas", threads=host.several)}
    cases |= {name: rungs.trained(on_card, name, **GRAPH) for name in rungs.CARD_PRODUCTS}
    cases |= {f"{name}/alone": rungs.trained(on_card, name, **ALONE) for name in rungs.CARD_PRODUCTS}
    cases |= {"pytorch_cuda": rungs.PEER_ON_CARD.rows(on_card)}
    cases |= {"pytorch_cuda/alone": study.where(on_card, variant="pytorch_cuda", **ALONE)}
    cases |= {line.variant: line.rows(peers) for line in rungs.PEERS_ON_HOST}
    cases |= {"tiled/peers": rungs.BESIDE_PEERS.rows(peers)}
    larger = query.of_batches(host.samples(query.PEERS, batch=query.LARGER_BATCH))
    cases |= {f"{line.variant}/larger": line.rows(larger) for line in rungs.PEERS_ON_HOST}
    cases |= {"tiled/larger": rungs.BESIDE_PEERS.rows(larger)}
    values = {f"{name}/time": timed(rows) for name, rows in cases.items()}
    graph, others = "PyTorch's in a graph", code("pytorch")
    pairs = [("blas/one", "openmp/one", code("openmp")), ("tiled/one", "blas/one", code("blas"))]
    pairs += [("cuda_mma", "blas", f"{code('blas')} on the host"), ("cuda_mma", "cublas", code("cublas"))]
    pairs += [("cuda_mma", "pytorch_cuda", graph), ("cuda_mma", "pytorch_cuda/alone", "PyTorch's without one")]
    pairs += [("tiled/peers", "pytorch", others), ("tiled/peers", "numpy_loop", code("numpy_loop"))]
    pairs += [("tiled/larger", "pytorch/larger", others)]
    pairs += [("cuda_shared", "cuda_naive", code("cuda_naive"))]
    pairs += [
        ("cublas/alone", "cuda_shared/alone", code("cuda_shared")),
        ("cublas", "cuda_shared", code("cuda_shared")),
    ]
    return values | against(cases, *pairs) | {"peers/threads": threads_of(cases["tiled/peers"])}


def threads_of(rows):
    """The threads of a case as a number, or None."""
    return f"\\num{{{int(rows['threads'].iloc[0])}}}" if len(rows) else None


def scaling(host):
    """Speed-ups over one thread: of a product and of the training on the most threads, and on as many as then."""
    values, products = {}, host.samples(query.PRODUCTS, device="host")
    for key, frame, column in (("product", products, "variant"), ("training", host.training, "product")):
        most = max(study.values(frame, "threads"), default=None)
        values[f"{key}/most"] = f"\\num{{{most}}}" if most else None
        for name in ("openmp", "blas"):
            rows = study.where(frame, **{column: name})
            values[f"{key}/{name}/speedup"] = ratios.prose(speedup(rows, most))
    values["several"] = f"\\num{{{host.several}}}" if host.several else None
    values["training/blas/several"] = ratios.prose(speedup(rungs.trained(host.training, "blas"), host.several))
    return values


def speedup(rows, threads):
    """The time on one thread over that on several, or None."""
    return ratios.of(study.where(rows, threads=1), study.where(rows, threads=threads)) if threads != 1 else None


def on_many_threads(found, host):
    """How the training collapses on the machine with most threads, if these are more than the host's."""
    widest = query.widest(found)
    counts = study.values(widest.training, "threads") if widest else []
    if not counts or counts[-1] <= max(study.values(host.training, "threads"), default=0):
        widest, counts = query.Machine(found.of(None)), [None, None]
    few, most = counts[-2:] if len(counts) > 1 else (None, counts[-1])
    values = {"wide/machine": code(widest.found.subject) if most else None}
    values |= {f"wide/{key}": f"\\num{{{count}}}" if count else None for key, count in (("few", few), ("most", most))}
    cases = {name: [rungs.trained(widest.training, name, threads=count) for count in (few, most)] for name in ON_WIDE}
    for name, pair in cases.items():
        times = dict(zip(("few", "most"), (timed(query.of_batches(rows)) for rows in pair), strict=True))
        values |= {f"wide/{name}/{key}": time for key, time in times.items()}
        values[f"wide/{name}/against"] = ratios.compared(ratios.of(*pair), f"on \\num{{{few}}}")
    return values


def parts_of_a_batch(host, card):
    """The shares of products, and what the launches cost."""
    cases = {
        "openmp": rungs.trained(host.training, "openmp", **ONE),
        "blas": rungs.trained(host.training, "blas", **ONE),
        "blas/several": rungs.trained(host.training, "blas", threads=host.several),
    }
    found = {key: query.products_over_the_rest(host, rows) for key, rows in cases.items()}
    values = {
        key: percent(one.value / (1 + one.value), 3 if key == "openmp" else 2) if one else None
        for key, one in found.items()
    }
    rows = rungs.trained(card.card, "cublas", **ALONE)
    own = query.phases(card, rows)
    own = own[~own["phase"].isin(query.COPIES)] if len(own) else own
    apart = own.groupby("phase")["seconds"].median().sum() if len(own) else 0.0
    values["cublas/apart"] = seconds(apart / batches(), 2) if apart else None
    plain = rungs.trained(card.samples(query.THREADS, device="cuda"), "cublas")
    copies = query.copied(card, plain)
    values["copies"] = seconds(study.middle(copies) - study.middle(plain), 2) if len(copies) else None
    return values


def learning(found):
    """What the trainings to the end have learned, of the first machine that has any."""
    found = found.first_with("mlp_accuracy")
    curves = found.rows("curves", "mlp_accuracy")
    last = curves[curves["epoch"] == curves["epochs"]] if len(curves) else curves
    values = {"machine": code(found.subject) if found.subject else None, "epochs": span(study.values(last, "epochs"))}
    values["images"] = listed(f"\\num{{{count}}}" for count in study.values(last, "images")) or None
    for dtype in mlp.SIZES["dtype"]:
        here = study.where(last, dtype=dtype)
        ends = [percent(value, 4) for value in study.values(here, "accuracy")]
        worst = ((here["loss"] - here["reference_loss"]).abs() / here["loss_bound"]).max() if len(here) else None
        values[f"{dtype}/accuracy"] = agreement(ends)
        values[f"{dtype}/worst-loss"] = percent(worst, 2) if worst is not None else None
    return values


def agreement(ends):
    """The predicate of the accuracies at which some trainings end."""
    if not ends:
        return Missing("have no measurement")
    if ends[0] == ends[-1]:
        return f"all end at an accuracy of {ends[0]}"
    return f"end at accuracies from {ends[0]} to {ends[-1]}"
