"""What is claimed of products and of the training, by the earlier study and by our rungs, and what is measured."""

from ladder.report import ratios, study
from ladder.report.latex import code, digits, percent
from ladder.report.verdict_table import Claim
from ladder.statistics.claims import decide
from ladder.workloads.mlp.paper import earlier, query, rungs

VECTORS = 4  # elements of float64 in the shortest vector registers of today's servers
SAME = 0.1  # what two forms may differ by and be the same


@study.once
def verdicts(found):
    """The claims with their answers: those of the earlier study, and those behind our rungs."""
    host, card = query.chosen(found)
    return {"earlier": of_the_earlier_study(host, card), "rungs": of_the_rungs(host, card)}


def of_the_earlier_study(host, card):
    """What the earlier study reports."""
    return [
        *by_threads(host),
        *blas_leads(host),
        *shared_memory(card),
        transfers(host, card),
        share_of_products(host),
    ]


def of_the_rungs(host, card):
    """What our rungs claim."""
    return [
        *on_the_host(host),
        *on_the_card(card),
        in_tf32(card),
        in_a_graph(card),
        *against_peers(host),
        against_pytorch(card),
    ]


def said(what, ratio):
    """An ablation as a cause, or None where it wasn't measured."""
    return f"{what}: {ratios.times(digits(ratio.value, 2))}" if ratio else None


def trained(rows, one, other):
    """The time of an epoch by one product and its tuning over that by another."""
    return ratios.of(*(rungs.trained(rows, product, **tuning) for product, tuning in (one, other)))


def of_lines(frame, lines, one, other):
    """The time of a product by one variant over that by another, each at its line's tuning."""
    return ratios.of(*(line_of(lines, name).rows(frame) for name in (one, other)))


def line_of(lines, variant):
    """The first line of a variant."""
    return next(one for one in lines if one.variant == variant)


def by_threads(host):
    """How the training with the plain loops goes with threads."""
    level, best, worse = earlier.LEVEL, earlier.BEST, earlier.WORSE
    told = (
        ("levels-off", f"Time levels off from {level} threads", (level, best), (1, 1)),
        ("worse", f"Best on {best} threads, worse on {worse}", (worse, best), (1,)),
    )
    for key, text, counts, claimed in told:
        forms = [{"threads": count} for count in counts]
        loops, blas = (trained(host.training, *((name, form) for form in forms)) for name in ("openmp", "blas"))
        cause, needs = said(f"{code('blas')} so", blas), f"{counts[0]} and {counts[1]} threads"
        yield Claim(key, text, needs, cause, decide(loops, *claimed))


def blas_leads(host):
    """How far the BLAS is ahead of the plain loops in the training."""
    for key, count, words in (("serial", 1, "serial"), ("parallel", earlier.BEST, f"{earlier.BEST} threads")):
        whole, order = (
            trained(host.training, *((name, {"threads": count}) for name in ("openmp", other)))
            for other in ("blas", "interchanged")
        )
        cause = said(f"{code('interchanged')} alone", order)
        text = f"BLAS far ahead of plain loops, {words}"
        yield Claim(key, text, "both products", cause, decide(whole, earlier.FAR))


def shared_memory(card):
    """What shared memory gains over the naive kernel, by the form of the product."""
    naive, shared = (
        {form: line_of(rungs.ON_CARD, name).rows(card.samples(query.SQUARE, form=form)) for form in query.FORMS}
        for name in ("cuda_naive", "cuda_shared")
    )
    first, *others = query.FORMS
    causes = {first: "both load twice a multiply-add"}
    causes |= {
        form: said(f"naive time over that of {code(first)}", ratios.of(naive[form], naive[first])) for form in others
    }
    for form, cause in causes.items():
        key, text = "shared" if form == first else f"shared/{form}", f"Shared memory halves naive time, {code(form)}"
        answer = decide(ratios.of(naive[form], shared[form]), earlier.HALVED)
        yield Claim(key, text, "both rungs", cause, answer)


def transfers(host, card):
    """Whether copies in every epoch bring cuBLAS and OpenBLAS together."""
    blas = rungs.trained(host.training, "blas", threads=earlier.BEST)
    cublas = study.where(card.samples(query.THREADS, device="cuda"), product="cublas")
    now, alone = ratios.of(blas, query.copied(card, cublas)), ratios.of(blas, cublas)
    text = f"Copies bring cuBLAS and {earlier.BEST} threads of OpenBLAS together"
    cause = said("without copies", alone)
    answer = decide(now, 1, 1, margin=earlier.NEAR - 1)
    return Claim("transfers", text, "both trainings", cause, answer)


def share_of_products(host):
    rows = rungs.trained(host.training, "openmp", threads=1)
    now = query.products_over_the_rest(host, rows)
    claimed = earlier.SHARE / (1 - earlier.SHARE)
    blas = query.products_over_the_rest(host, rungs.trained(host.training, "blas", threads=1))
    cause = f"{percent(now.value / (1 + now.value))}" if now else None
    cause = f"{cause}; with {code('blas')} {percent(blas.value / (1 + blas.value), 2)}" if now and blas else cause
    text = f"Products are over {percent(earlier.SHARE, 2)} (over the rest)"
    return Claim("share", text, "an epoch by operation", cause, decide(now, claimed))


def on_the_host(host):
    """The loops: in another order, in tiles, and in C."""
    products, loops = host.samples(query.PRODUCTS, threads=1), host.samples(query.LOOPS, threads=1)
    vectors = of_lines(products, rungs.ON_HOST, "openmp", "interchanged")
    text, cause = f"{code('interchanged')} over {code('openmp')}", "vectors, and rows in order"
    yield Claim("interchanged", text, "both rungs", cause, decide(vectors, VECTORS))
    one = {"threads": 1}
    text, tiled = (
        f"Training by {code('tiled')} as fast as by the BLAS",
        trained(host.training, ("tiled", one), ("blas", one)),
    )
    cause = "panels packed for the caches"
    yield Claim("tiled", text, "both rungs", cause, decide(tiled, 1, 1, margin=SAME))
    compiled = of_lines(loops, rungs.ON_HOST, "c_openmp", "openmp")
    text, cause = f"{code('openmp')} as fast as in C ($512^3$)", "the same loops"
    yield Claim("compiled", text, "both", cause, decide(compiled, 1, 1, margin=SAME))


def on_the_card(card):
    frame = card.samples(query.SQUARE)
    told = (
        ("columns", "cuda_shared", "cuda_columns", (2,), "one operand stays in a register"),
        ("registers", "cuda_shared", "cuda_tiled", (4,), "a load serves eight multiply-adds"),
        ("tensor-cores", "cuda_tiled", "cuda_mma", (2,), "twice the multiply-adds a cycle"),
    )
    for key, slower, faster, claimed, cause in told:
        now = of_lines(frame, rungs.ON_CARD, slower, faster)
        text = f"{code(faster)} over {code(slower)}"
        yield Claim(key, text, "both rungs", cause, decide(now, *claimed))
    now = of_lines(frame, rungs.ON_CARD, "cuda_mma", "cublas")
    text = f"{code('cuda_mma')} as fast as {code('cublas')}"
    yield Claim("mma", text, "both rungs", None, decide(now, 1, 1, margin=SAME))


def in_tf32(card):
    """The tensor cores on float32's operands: both round them to TF32."""
    frame = card.samples(query.SINGLE)
    now = ratios.of(*(rungs.IN_TF32[name].rows(frame) for name in ("cuda_mma", "cublas")))
    text = f"{code('cuda_mma')} as fast as {code('cublas')}, both TF32"
    return Claim("tf32", text, "both", None, decide(now, 1, 1, margin=SAME))


def in_a_graph(card):
    """What one graph of an epoch's kernels gains."""
    forms = {"graph": "off"}, {"graph": "on"}
    now, longer = (trained(card.card, *((name, form) for form in forms)) for name in ("cublas", "cuda_shared"))
    text = f"A graph halves an epoch by {code('cublas')}"
    return Claim("graph", text, "both forms", said(f"by {code('cuda_shared')}", longer), decide(now, 2))


def against_peers(host):
    """The training on the host against what others would use, on as many threads: the most."""
    for peer in rungs.PEERS_ON_HOST:
        now, larger = (
            over_peer(host.samples(query.PEERS, batch=batch), peer)
            for batch in (query.NETWORK["batch"], query.LARGER_BATCH)
        )
        text = f"Training by {code('tiled')} over {code(peer.variant)}"
        cause = said(f"in batches of \\num{{{query.LARGER_BATCH}}}", larger)
        yield Claim(f"peer/{peer.variant}", text, "both", cause, decide(now, 1))


def over_peer(frame, peer):
    """The time of a peer's training over ours, both on the most threads; None where these aren't as many."""
    own, rows = rungs.BESIDE_PEERS.rows(frame), peer.rows(frame)
    return ratios.of(rows, own) if study.values(own, "threads") == study.values(rows, "threads") else None


def against_pytorch(card):
    own = rungs.trained(card.card, "cuda_mma", graph="on")
    rows = rungs.PEER_ON_CARD.rows(card.card)
    eager = ratios.of(study.where(card.card, variant="pytorch_cuda", graph="off"), own)
    text = f"Training by {code('cuda_mma')} over PyTorch's graph"
    cause = said("over PyTorch without one", eager)
    return Claim("peer/pytorch_cuda", text, "both", cause, decide(ratios.of(rows, own), 1))
