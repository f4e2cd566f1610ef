"""The claims of the earlier study about products and the training of a deep network, and our own.

`place` is the section of the earlier study's report. Ratios of a form rest on the phases of the same trainings.
"""

from functools import partial

from ladder.report.assumptions import LOAD_SLOWDOWN
from ladder.report.latex import percent
from ladder.report.telling.chapter_study import NotMeasured, as_selection, phase_times_of_call, require_measured
from ladder.report.telling.claims import join_causes
from ladder.report.telling.lines import COMMON, EQUAL, Cause, Claim, equals, select
from ladder.workloads.mlp.paper.lines import FORMS, KNEE, LINES, PEAK, THREADS

MIN_SHARE = 0.99  # of products in a training
VECTOR_ELEMENTS = 4  # of float64, in the shortest vector registers of today's servers
WHOLE = "whole"
PHASES = {WHOLE: ()} | {form: (form,) for form in FORMS.values()}  # the phases of a form's products


def deep_net(product, threads=PEAK):
    """The training of the deep network by a product on so many threads."""
    return select(f"deep/{product}", threads=threads)


def deep_launches(product):
    """The training of the deep network with its kernels launched one by one, so that its operations can be timed."""
    return select(f"deep/{product}", graph="off")


def cause_by_form(slower, faster):
    """The ratio of two trainings by form, as a cause."""
    return join_causes(*(Cause(f"`{form}`", slower.phase(form), faster.phase(form)) for form in FORMS.values()))


def threads_claim(key, words, slower, faster, form=WHOLE, product="openmp", cause=None, place="2.1", **limits):
    """The claim about a training, or its products of a form, on two numbers of threads; `limits` are of the ratio."""
    trainings, blas = ([deep_net(name, n).phase(*PHASES[form]) for n in (slower, faster)] for name in (product, "blas"))
    cause = cause or (cause_by_form(*trainings) if form == WHOLE else Cause("with `blas`:", *blas))
    return Claim(key, words, *trainings, needs=f"{faster} cores", cause=cause, place=place, **limits)


def plateau_claim(form):
    """The claim that more threads than KNEE change nothing, with the gain up to there as the cause."""
    words = f"Time of {'the training' if form == WHOLE else f'`{form}`'} evens out at {KNEE} threads"
    gain = Cause(f"from 1 to {KNEE}:", *(deep_net("openmp", count).phase(*PHASES[form]) for count in (1, KNEE)))
    return threads_claim(f"even/{form}", words, KNEE, PEAK, form, cause=gain, **EQUAL)


def slowdown_claim(product):
    """The claim that a training takes longer on more threads than PEAK, which needs a host with fewer cores."""

    def ratio(study):
        if study.machine("host").description.get("cores", THREADS[-1]) >= THREADS[-1]:
            raise NotMeasured
        return study.ratio(deep_net(product, THREADS[-1]), deep_net(product))

    words, needs = f"`{product}`: slower on {THREADS[-1]} threads", f"fewer than {THREADS[-1]} cores"
    return Claim(f"rises/{product}", words, ratio=ratio, needs=needs, place="2.2.5")


def products_over_the_rest(study, selection):
    """The time of an epoch's products over that of its other operations, where these add up to it."""
    selection = as_selection(selection)
    require_measured(phase_times_of_call(study.rows(selection), study.phases(selection)))
    return study.ratio(selection.phase(*FORMS.values()), selection.without(*FORMS.values()))


def share_of(ratio):
    """The share of the whole, from the ratio to the rest."""
    return ratio.value / (1 + ratio.value)


def share_claim(key, words, loops, blas, **place):
    """The claim that products take MIN_SHARE of a training by plain loops, as their ratio to the rest."""

    def cause(study, ratio):
        share = percent(share_of(require_measured(ratio)))
        try:
            return f"{share}; with `blas` {percent(share_of(products_over_the_rest(study, blas)), 2)}"
        except NotMeasured:
            return share

    options = {"min": MIN_SHARE / (1 - MIN_SHARE), "needs": "an epoch by operation", "cause": cause} | place
    words = f"Products take over {percent(MIN_SHARE, 2)} of {words} (as a multiple of the rest)"
    return Claim(key, words, ratio=partial(products_over_the_rest, selection=loops), **options)


def claim(key, words, slower, faster, cause=None, **options):
    """A claim about two lines; by default that the second is faster."""
    return Claim(key, words, slower, faster, needs="both", cause=cause, **options)


GPU, KERNELS = {"place": "3.3"}, ("cuda_naive", "cuda_shared", "cublas")  # GPU: an option of claims about it
WITH_LOOPS, WITH_BLAS = ({"product": name, "place": "2.2.5"} for name in ("openmp", "blas"))
ON_ONE_THREAD, ON_PEAK = ([deep_net(name, count) for name in ("openmp", "blas")] for count in (1, PEAK))
OPENMP, BLAS = ON_PEAK
NAIVE, SHARED, CUBLAS = (f"deep/{name}" for name in KERNELS)
COPIES, SHARED_COPIES = "copies/cublas", "copies/cuda_shared"  # with copies in every batch
CUBLAS_WORDS, OPENBLAS_WORDS = "cuBLAS over `cuda_shared`, both with copies", "OpenBLAS over `cuda_shared` with copies"
no_copy = partial(Cause, "without copies:")  # for claims about trainings with copies
SHARED_CAUSE = cause_by_form(deep_launches("cuda_naive"), deep_launches("cuda_shared"))
EARLIER_CLAIMS = [
    *(threads_claim(f"falls/{form}", f"Time of `{form}` falls with threads", 1, KNEE, form) for form in FORMS.values()),
    *map(plateau_claim, (*FORMS.values(), WHOLE)),
    threads_claim("half/openmp", "`openmp`: half the time on two threads", 1, 2, **WITH_LOOPS, **equals(2)),
    threads_claim("on/openmp", f"`openmp`: falls further up to {PEAK} threads", KNEE, PEAK, **WITH_LOOPS),
    threads_claim("half/blas", "`blas`: half the time on two threads", 1, 2, **WITH_BLAS, **equals(2)),
    threads_claim("on/blas", f"`blas`: falls further up to {PEAK} threads", KNEE, PEAK, **WITH_BLAS),
    *map(slowdown_claim, ("openmp", "blas")),
    claim("blas/1", "OpenBLAS over loops, one thread", *ON_ONE_THREAD, cause_by_form(*ON_ONE_THREAD), place="2.2.4"),
    claim(f"blas/{PEAK}", f"OpenBLAS over loops, {PEAK} threads", *ON_PEAK, cause_by_form(*ON_PEAK), place="2.2.4"),
    claim("shared", "Shared memory halves the training", NAIVE, SHARED, SHARED_CAUSE, min=2, **GPU),
    claim("close", "cuBLAS with copies equals OpenBLAS", BLAS, COPIES, no_copy(BLAS, CUBLAS), **EQUAL, **GPU),
    claim("fastest/cublas", CUBLAS_WORDS, SHARED_COPIES, COPIES, no_copy(SHARED, CUBLAS), **GPU),
    claim("fastest/blas", OPENBLAS_WORDS, SHARED_COPIES, BLAS, no_copy(SHARED, BLAS), **GPU),
    share_claim("share", "the training", *ON_ONE_THREAD, **GPU),
    *(claim(f"gpu/{key}", f"`{key}` over `openmp` on {PEAK} threads", OPENMP, f"deep/{key}", **GPU) for key in KERNELS),
]
GRAPHS = [select("small/cublas", graph=graph) for graph in ("off", "on")]
GRAPH_CAUSE = Cause("with `cuda_shared`:", *(select("small/cuda_shared", graph=graph) for graph in ("off", "on")))
MMA, PYTORCH, COMPILED = "deep/cuda_mma", "deep/pytorch_cuda", "deep/pytorch_cuda/compiled"
TILED, *PEERS = (select(key, threads=COMMON) for key in LINES if key.startswith("peers/"))
LAUNCH_CAUSE = Cause("over PyTorch without a graph:", deep_launches("pytorch_cuda"), MMA)
OUR_CLAIMS = [
    claim("interchanged", "`interchanged` over `openmp`", "openmp", "interchanged", "vectors", min=VECTOR_ELEMENTS),
    claim("compiled", "`openmp` as fast as in C", "c_openmp", "openmp", "the same loops", **EQUAL),
    claim("tiled", "Training with `tiled` as fast as with `blas`", "small/blas", "small/tiled", **EQUAL),
    claim("large", "`cuda_shared` over `cuda_naive`, large product", "cuda_naive", "cuda_shared"),
    # One of the two loads of a multiply-add is left; then, by the model, loads no longer limit the kernel.
    claim("columns", "`cuda_columns` over `cuda_shared`", "cuda_shared", "cuda_columns", "loads", min=2),
    claim("registers", "`cuda_tiled` over `cuda_shared`", "cuda_shared", "cuda_tiled", "loads", min=LOAD_SLOWDOWN),
    # By the data sheet's rates of multiply-adds.
    claim("tensor-cores", "`cuda_mma` over `cuda_tiled`", "cuda_tiled", "cuda_mma", "tensor cores", min=2),
    claim("mma", "`cuda_mma` as fast as `cublas`", "cublas", "cuda_mma", **EQUAL),
    claim("graph", "A CUDA graph over single launches, `cublas`", *GRAPHS, GRAPH_CAUSE),
    share_claim("share/small", "the small network's training", "small/openmp", "small/blas"),
    claim("peer/numpy_loop", "Training with `tiled` over `numpy_loop`", PEERS[0], TILED),
    claim("peer/pytorch", "Training with `tiled` over `pytorch`", PEERS[1], TILED),
    claim("peer/pytorch/compiled", "Training with `tiled` over `pytorch`, compiled", PEERS[2], TILED),
    claim("peer/pytorch_cuda", "Training with `cuda_mma` over PyTorch's graph", PYTORCH, MMA, LAUNCH_CAUSE),
    claim("peer/pytorch_cuda/compiled", "Training with `cuda_mma` over PyTorch's compiled graph", COMPILED, MMA),
    claim("persistent/100", "`cuda_persistent` over compiled PyTorch", "100/pytorch_cuda", "100/cuda_persistent"),
    claim("persistent/1000", "The same, in batches of 1000", "1000/pytorch_cuda", "1000/cuda_persistent"),
]
CLAIMS = {"earlier": EARLIER_CLAIMS, "own": OUR_CLAIMS}
