"""The claims of the earlier study about products and the training of a deep network, and our own questions.

`place` is the section of the earlier study's report. Its network isn't known; ours has several wide layers, so that all
three forms of the product matter. Ratios of a form rest on the phases of the same training.
"""

from ladder.report import ratios
from ladder.report.latex import percent
from ladder.report.telling.chapter_study import NotMeasured, required
from ladder.report.telling.lines import COMMON, Cause, Claim, select
from ladder.workloads.mlp.paper import model
from ladder.workloads.mlp.paper.lines import BEST, FORMS, LEVEL, THREADS

HALF = 2  # the speed-up by shared memory over the naive kernel is larger, that by a second thread about as large
SHARE = 0.99  # the minimum share of products in a training
VECTORS = 4  # elements of float64 in the shortest vector registers of today's servers
MORE_THREADS = THREADS[-1]


def deep(product, threads=BEST):
    """The training of the deep network by a product on so many threads."""
    return select(f"deep/{product}", threads=threads)


def one_by_one(product):
    """The training of the deep network with its kernels launched one by one, so that its operations can be timed."""
    return select(f"deep/{product}", graph="off")


def timed(study, selection, form=None):
    """The calls of a training, or their times in all products of a form."""
    if form is None:
        return study.rows(selection)
    phases = required(study.phases(selection))
    phases = required(phases[phases["phase"] == form])
    keys = [name for name in ("campaign", "process", "sample") if name in phases]
    seconds = phases.groupby(keys, dropna=False)["seconds"].transform("sum")
    return phases.assign(seconds=seconds).drop_duplicates(keys)


def of_form(study, form, slower, faster):
    """The time of all products of a form in a training over that in another."""
    return ratios.of(timed(study, slower, form), timed(study, faster, form))


def by_forms(slower, faster):
    """A cause: the same ratio by form of the product."""

    def cause(study, ratio):
        return ", ".join(f"`{form}` {ratios.short(of_form(study, form, slower, faster).value)}" for form in FORMS.values())

    return cause


def products_over_the_rest(study, selection):
    """The time of an epoch's products over that of its other operations, where these add up to it."""
    required(study.phase_shares(selection))
    return study.ratio_to_rest(selection, [*FORMS.values()])


def share_of(ratio):
    """The share of the whole, from the ratio to the rest."""
    return ratio.value / (1 + ratio.value)


def product_claim(form, slower, faster, key, words, **ends):
    """A claim about plain loops on two numbers of threads, for a form of the product."""
    sides = deep("openmp", slower), deep("openmp", faster)
    words, ratio = words.format(f"`{form}`"), lambda study: of_form(study, form, *sides)
    cause = Cause("with `blas`", ratio=lambda study: of_form(study, form, deep("blas", slower), deep("blas", faster)))
    return Claim(f"{key}/{form}", words, **ends, cause=cause, ratio=ratio, needs=f"{faster} cores", place="2.1")


def by_threads(key, product, slower, faster, words, **ends):
    """A claim about a training on two numbers of threads."""
    sides = deep(product, slower), deep(product, faster)
    return Claim(f"{key}/{product}", words, *sides, **ends, cause=by_forms(*sides), needs=f"{faster} cores", place="2.2.5")


def rise(product):
    """The claim that a training takes longer on more threads than BEST; only with fewer cores than threads."""
    sides = deep(product, MORE_THREADS), deep(product)

    def ratio(study):
        machine = study.machine("host")
        if machine.descriptions.get(machine.subject, {}).get("cores", MORE_THREADS) >= MORE_THREADS:
            raise NotMeasured
        return study.ratio(*sides)

    words = f"`{product}`: {MORE_THREADS} threads take longer than {BEST}"
    needs = f"{MORE_THREADS} threads on fewer cores"
    return Claim(f"rises/{product}", words, ratio=ratio, needs=needs, place="2.2.5")


def blas_leads(threads, words):
    """The claim that the BLAS is faster than the plain loops."""
    sides = deep("openmp", threads), deep("blas", threads)
    words = f"BLAS faster than plain loops, {words}"
    return Claim(f"blas/{threads}", words, *sides, needs="both", cause=by_forms(*sides), place="2.2.4")


def share_claim(key, words, loops, blas, **place):
    """The claim that products take SHARE of a training by plain loops, as their ratio to the rest."""

    def cause(study, ratio):
        words = percent(share_of(required(ratio)))
        try:
            return f"{words}; with `blas` {percent(share_of(products_over_the_rest(study, blas)), 2)}"
        except NotMeasured:
            return words

    words = f"Products are over {percent(SHARE, 2)} of {words} (over the rest)"
    options = {"min": SHARE / (1 - SHARE), "needs": "an epoch by operation", "cause": cause}
    return Claim(key, words, ratio=lambda study: products_over_the_rest(study, loops), **options, **place)


def direction(key, words, slower, faster, cause=None, **place):
    """The claim that the second side is faster."""
    return Claim(key, words, slower, faster, needs="both", cause=cause, **place)


COPIES = {name: f"copies/{name}" for name in ("cuda_shared", "cublas")}  # trainings with copies in every batch
SPLIT = by_forms(one_by_one("cuda_naive"), one_by_one("cuda_shared"))
WITHOUT_COPIES = Cause("without copies", deep("blas"), "deep/cublas")
EARLIER = [
    *(product_claim(form, 1, LEVEL, "falls", "{} falls with threads") for form in FORMS.values()),
    *(product_claim(form, LEVEL, BEST, "even", f"{{}} evens out at {LEVEL} threads", min=1, max=1) for form in FORMS.values()),
    by_threads("half", "openmp", 1, 2, "Two threads halve the training, plain loops", min=HALF, max=HALF),
    by_threads("half", "blas", 1, 2, "The same with OpenBLAS", min=HALF, max=HALF),
    by_threads("on", "openmp", LEVEL, BEST, f"The training falls on to {BEST} threads"),
    by_threads("on", "blas", LEVEL, BEST, "The same with OpenBLAS"),
    *map(rise, ("openmp", "blas")),
    blas_leads(1, "one thread"),
    blas_leads(BEST, f"{BEST} threads"),
    Claim(
        *("shared", "Shared memory halves the training", "deep/cuda_naive", "deep/cuda_shared"),
        **{"min": HALF, "needs": "both kernels", "cause": SPLIT, "place": "3.3"},
    ),
    Claim(
        *("close", f"cuBLAS with copies as fast as OpenBLAS on {BEST} threads", deep("blas"), COPIES["cublas"]),
        **{"min": 1, "max": 1, "needs": "both trainings", "cause": WITHOUT_COPIES, "place": "3.3"},
    ),
    direction(
        *("fastest/cublas", "cuBLAS over `cuda_shared`, both with copies", COPIES["cuda_shared"], COPIES["cublas"]),
        cause=Cause("without copies", "deep/cuda_shared", "deep/cublas"),
        place="3.3",
    ),
    direction(
        *("fastest/blas", f"OpenBLAS on {BEST} threads over it", COPIES["cuda_shared"], deep("blas")),
        cause=Cause("without copies", "deep/cuda_shared", deep("blas")),
        place="3.3",
    ),
    share_claim("share", "the training", deep("openmp", 1), deep("blas", 1), place="3.3"),
    *(
        direction(f"gpu/{name}", f"`{name}` over OpenMP on {BEST} threads", deep("openmp"), f"deep/{name}", place="3.3")
        for name in ("cuda_naive", "cuda_shared", "cublas")
    ),
]


def question(key, words, slower, faster, cause=None, **ends):
    """A question of ours about a ratio; by default whether the second side is faster."""
    return Claim(key, words, slower, faster, **ends, needs="both", cause=cause)


def peer(name):
    """The question whether our training beats a peer on the host, on the same number of threads."""
    sides = (select(f"peers/{side}", threads=COMMON) for side in (name, "tiled"))
    return question(f"peer/{name}", f"Training with `tiled` over `{name}`, 784--300--10", *sides)


SMALL, EQUAL = "small/{}".format, {"min": 1, "max": 1}
GRAPH = [select(SMALL("cublas"), graph=graph) for graph in ("off", "on")]
BY_SHARED = Cause("with `cuda_shared`", *(select(SMALL("cuda_shared"), graph=graph) for graph in ("off", "on")))
EAGER = Cause("over kernel launches", select("deep/pytorch_cuda", graph="off"), "deep/cuda_mma")
OWN = [
    question("interchanged", "`interchanged` over `openmp`", "openmp", "interchanged", "vectors", min=VECTORS),
    question("compiled", "`openmp` as fast as in C", "c_openmp", "openmp", "the same loops", **EQUAL),
    question("tiled", "Training with `tiled` as fast as with `blas`", SMALL("blas"), SMALL("tiled"), **EQUAL),
    question("large", "`cuda_shared` over `cuda_naive`, $4096^3$", "cuda_naive", "cuda_shared"),
    # One of the two loads of a multiply-add is left.
    question("columns", "`cuda_columns` over `cuda_shared`", "cuda_shared", "cuda_columns", "loads", min=2),
    # By the model: loads no longer matter.
    question("registers", "`cuda_tiled` over `cuda_shared`", "cuda_shared", "cuda_tiled", "loads", min=model.LOADS),
    # The data sheet's rates of multiply-adds.
    question("tensor-cores", "`cuda_mma` over `cuda_tiled`", "cuda_tiled", "cuda_mma", "tensor cores", min=2),
    question("mma", "`cuda_mma` as fast as `cublas`", "cublas", "cuda_mma", **EQUAL),
    question("graph", "A CUDA graph, `cublas`, 784--300--10", *GRAPH, BY_SHARED),
    share_claim("share/small", "the training of 784--300--10", SMALL("openmp"), SMALL("blas")),
    *map(peer, ("numpy_loop", "pytorch")),
    question("peer/pytorch_cuda", "Training with `cuda_mma` over PyTorch's graph", "deep/pytorch_cuda", "deep/cuda_mma", EAGER),
]
CLAIMS = {"earlier": EARLIER, "own": OWN}
