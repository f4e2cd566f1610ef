"""The claims of the earlier study about products and the training of a deep network, and our own questions.

`place` is the section of the earlier study's report. Ratios of a form rest on the phases of the same trainings.
"""

from functools import partial

from ladder.report import ratios
from ladder.report.latex import percent
from ladder.report.telling.chapter_study import NotMeasured, required
from ladder.report.telling.lines import COMMON, Cause, Claim, select
from ladder.workloads.mlp.paper import model
from ladder.workloads.mlp.paper.lines import BEST, FORMS, LEVEL, THREADS

SHARE = 0.99  # the minimum share of products in a training
VECTORS = 4  # elements of float64 in the shortest vector registers of today's servers
EQUAL, TWICE, HALF_AT_MOST = {"min": 1, "max": 1}, {"min": 2, "max": 2}, {"min": 2}
WHOLE = "whole"


def deep(product, threads=BEST):
    """The training of the deep network by a product on so many threads."""
    return select(f"deep/{product}", threads=threads)


def one_by_one(product):
    """The training of the deep network with its kernels launched one by one, so that its operations can be timed."""
    return select(f"deep/{product}", graph="off")


def timed(study, selection, form):
    """The times of a training in all products of a form, or of its calls as a WHOLE."""
    if form == WHOLE:
        return study.rows(selection)
    phases = required(study.phases(selection))
    phases = required(phases[phases["phase"] == form])
    keys = [name for name in ("campaign", "process", "sample") if name in phases]
    seconds = phases.groupby(keys, dropna=False)["seconds"].transform("sum")
    return phases.assign(seconds=seconds).drop_duplicates(keys)


def ratio_of_form(study, form, slower, faster):
    """The time of a training in all products of a form over that of another."""
    return ratios.of(timed(study, slower, form), timed(study, faster, form))


def by_form(slower, faster):
    """The ratio of two trainings by form, as a cause."""

    def cause(study, ratio):
        values = {form: ratio_of_form(study, form, slower, faster).value for form in FORMS.values()}
        return ", ".join(f"`{form}` {ratios.short(value)}" for form, value in values.items())

    return cause


def by_threads(key, words, slower, faster, form=WHOLE, product="openmp", cause=None, place="2.1", **ends):
    """The claim about a training, or its products of a form, on two numbers of threads."""
    sides = deep(product, slower), deep(product, faster)
    ratio = partial(ratio_of_form, form=form, slower=sides[0], faster=sides[1])
    if cause is None:
        blas = {"form": form, "slower": deep("blas", slower), "faster": deep("blas", faster)}
        cause = by_form(*sides) if form == WHOLE else Cause("with `blas`", ratio=partial(ratio_of_form, **blas))
    return Claim(key, words, ratio=ratio, cause=cause, needs=f"{faster} cores", place=place, **ends)


def evens_out(form):
    """The claim that more threads than LEVEL change nothing, with the gain up to there as the cause."""
    words = "The training" if form == WHOLE else f"`{form}`"
    gain = partial(ratio_of_form, form=form, slower=deep("openmp", 1), faster=deep("openmp", LEVEL))
    cause = Cause(f"from 1 to {LEVEL}", ratio=gain)
    return by_threads(f"even/{form}", f"{words} evens out at {LEVEL} threads", LEVEL, BEST, form, cause=cause, **EQUAL)


def rises(product):
    """The claim that a training takes longer on more threads than BEST, which needs a host with fewer cores."""

    def ratio(study):
        machine = study.machine("host")
        if machine.descriptions.get(machine.subject, {}).get("cores", THREADS[-1]) >= THREADS[-1]:
            raise NotMeasured
        return study.ratio(deep(product, THREADS[-1]), deep(product))

    words, needs = f"`{product}`: longer on {THREADS[-1]} threads", f"fewer than {THREADS[-1]} cores"
    return Claim(f"rises/{product}", words, ratio=ratio, needs=needs, place="2.2.5")


def products_over_the_rest(study, selection):
    """The time of an epoch's products over that of its other operations, where these add up to it."""
    required(study.phase_shares(selection))
    return study.ratio_to_rest(selection, [*FORMS.values()])


def share_of(ratio):
    """The share of the whole, from the ratio to the rest."""
    return ratio.value / (1 + ratio.value)


def share_claim(key, words, loops, blas, **place):
    """The claim that products take SHARE of a training by plain loops, as their ratio to the rest."""

    def cause(study, ratio):
        share = percent(share_of(required(ratio)))
        try:
            return f"{share}; with `blas` {percent(share_of(products_over_the_rest(study, blas)), 2)}"
        except NotMeasured:
            return share

    options = {"min": SHARE / (1 - SHARE), "needs": "an epoch by operation", "cause": cause} | place
    words = f"Products are over {percent(SHARE, 2)} of {words} (over the rest)"
    return Claim(key, words, ratio=partial(products_over_the_rest, selection=loops), **options)


def claim(key, words, slower, faster, cause=None, **options):
    """A claim about two lines; by default that the second is faster."""
    return Claim(key, words, slower, faster, needs="both", cause=cause, **options)


OPENMP, BLAS = deep("openmp"), deep("blas")
NAIVE, SHARED, CUBLAS = "deep/cuda_naive", "deep/cuda_shared", "deep/cublas"
COPIES, SHARED_COPIES = "copies/cublas", "copies/cuda_shared"  # with copies in every batch
ALONE = "without copies"
SPLIT = by_form(one_by_one("cuda_naive"), one_by_one("cuda_shared"))
EARLIER = [
    *(by_threads(f"falls/{form}", f"`{form}` falls with threads", 1, LEVEL, form) for form in FORMS.values()),
    *map(evens_out, (*FORMS.values(), WHOLE)),
    *(
        by_threads(f"{key}/{product}", f"`{product}`: {words}", *counts, product=product, place="2.2.5", **ends)
        for product in ("openmp", "blas")
        for key, words, counts, ends in (
            ("half", "half the time on two threads", (1, 2), TWICE),
            ("on", f"falls on to {BEST} threads", (LEVEL, BEST), {}),
        )
    ),
    *map(rises, ("openmp", "blas")),
    *(
        claim(f"blas/{count}", f"BLAS over plain loops, {words}", *sides, by_form(*sides), place="2.2.4")
        for count, words in ((1, "one thread"), (BEST, f"{BEST} threads"))
        for sides in [(deep("openmp", count), deep("blas", count))]
    ),
    claim("shared", "Shared memory halves the training", NAIVE, SHARED, SPLIT, **HALF_AT_MOST, place="3.3"),
    claim(
        "close", "cuBLAS with copies equals OpenBLAS", BLAS, COPIES, Cause(ALONE, BLAS, CUBLAS), **EQUAL, place="3.3"
    ),
    claim(
        "fastest/cublas",
        "cuBLAS over `cuda_shared`, both with copies",
        SHARED_COPIES,
        COPIES,
        Cause(ALONE, SHARED, CUBLAS),
        place="3.3",
    ),
    claim(
        "fastest/blas",
        "OpenBLAS over `cuda_shared` with copies",
        SHARED_COPIES,
        BLAS,
        Cause(ALONE, SHARED, BLAS),
        place="3.3",
    ),
    share_claim("share", "the training", deep("openmp", 1), deep("blas", 1), place="3.3"),
    *(
        claim(f"gpu/{name}", f"`{name}` over OpenMP on {BEST} threads", OPENMP, f"deep/{name}", place="3.3")
        for name in ("cuda_naive", "cuda_shared", "cublas")
    ),
]


def peer(name):
    """The question whether our training beats a peer on the host, on the same number of threads."""
    sides = (select(f"peers/{side}", threads=COMMON) for side in (name, "tiled"))
    return claim(f"peer/{name}", f"Training with `tiled` over `{name}`", *sides)


GRAPHS = {name: [select(f"small/{name}", graph=graph) for graph in ("off", "on")] for name in ("cublas", "cuda_shared")}
EAGER = Cause("over its kernel launches", one_by_one("pytorch_cuda"), "deep/cuda_mma")
OWN = [
    claim("interchanged", "`interchanged` over `openmp`", "openmp", "interchanged", "vectors", min=VECTORS),
    claim("compiled", "`openmp` as fast as in C", "c_openmp", "openmp", "the same loops", **EQUAL),
    claim("tiled", "Training with `tiled` as fast as with `blas`", "small/blas", "small/tiled", **EQUAL),
    claim("large", "`cuda_shared` over `cuda_naive`, large", "cuda_naive", "cuda_shared"),
    # One of the two loads of a multiply-add is left; then, by the model, loads no longer limit the kernel.
    claim("columns", "`cuda_columns` over `cuda_shared`", "cuda_shared", "cuda_columns", "loads", min=2),
    claim("registers", "`cuda_tiled` over `cuda_shared`", "cuda_shared", "cuda_tiled", "loads", min=model.LOADS),
    # By the data sheet's rates of multiply-adds.
    claim("tensor-cores", "`cuda_mma` over `cuda_tiled`", "cuda_tiled", "cuda_mma", "tensor cores", min=2),
    claim("mma", "`cuda_mma` as fast as `cublas`", "cublas", "cuda_mma", **EQUAL),
    claim(
        "graph",
        "A CUDA graph over launches, `cublas`",
        *GRAPHS["cublas"],
        Cause("with `cuda_shared`", *GRAPHS["cuda_shared"]),
    ),
    share_claim("share/small", "the small network's training", "small/openmp", "small/blas"),
    *map(peer, ("numpy_loop", "pytorch")),
    claim(
        "peer/pytorch_cuda",
        "Training with `cuda_mma` over PyTorch's graph",
        "deep/pytorch_cuda",
        "deep/cuda_mma",
        EAGER,
    ),
]
CLAIMS = {"earlier": EARLIER, "own": OWN}
