"""The claims about products and the training, of the earlier study and behind our rungs."""

from functools import partial

from ladder.report import ratios
from ladder.report.latex import num, percent
from ladder.report.telling.chapter_study import NotMeasured, required
from ladder.report.telling.lines import COMMON, Cause, Claim, select
from ladder.workloads.mlp.paper.lines import BEST, FORMS, KINDS, SOURCES

LEVEL, WORSE = 4, 24  # threads at which time levels off and beyond which it rises, on the earlier study's twelve cores
HALVED = 2  # the minimum speed-up by shared memory over the naive kernel
SHARE = 0.99  # the minimum share of products in a training
FAR = 2  # the minimum speed-up for "far ahead"
CLOSE = 0.5  # the margin of "close to each other"
SAME = 0.1  # the margin of equality of two forms
VECTORS = 4  # elements of float64 in the shortest vector registers of today's servers
tie = partial(Claim, min=1, max=1, margin=SAME)
LARGER_BATCH = SOURCES["peers, larger"].conditions["batch"]


def training(product, threads):
    """The line of a training by a product on some number of threads."""
    return select(f"training/{product}", "training", threads=threads)


LOOPS, BLAS = training("openmp", 1), training("blas", 1)
FEW_IMAGES = select("training/cublas", "few images", graph="off")
COMPILED = select("c_openmp", "loops"), select("openmp", "loops")
CUBLAS, SHARED, (EAGER, PYTORCH) = (
    [select(line, "gpu", graph=graph) for graph in ("off", "on")]
    for line in ("training/cublas", "training/cuda_shared", "pytorch_cuda")
)
MMA = select("training/cuda_mma", "gpu")
BY_SHARED = Cause("by `cuda_shared`", *SHARED)


def by_threads(key, words, slower, faster, bound):
    """The claim about the training by plain loops on two numbers of threads."""
    loops, blas = ([training(name, count) for count in (slower, faster)] for name in ("openmp", "blas"))
    needs = f"{slower} and {faster} threads"
    return Claim(key, words, *loops, max=bound, needs=needs, cause=Cause("with `blas`", *blas))


def blas_leads(key, threads, words):
    """The claim that the BLAS is far ahead of the plain loops."""
    loops, order, blas = (training(name, threads) for name in ("openmp", "interchanged", "blas"))
    cause = Cause("`interchanged` alone", loops, order)
    return Claim(key, f"BLAS far ahead of plain loops, {words}", loops, blas, FAR, needs="both products", cause=cause)


def shared_memory(form):
    """The claim that shared memory speeds up the naive kernel in a form of the product."""
    naive, shared = (select(name, form) for name in ("cuda_naive", "cuda_shared"))
    key, cause = f"shared/{form}", Cause(f"naive time over that of `{FORMS[0]}`", naive, select("cuda_naive", FORMS[0]))
    if form == FORMS[0]:
        key, cause = "shared", "both load two operands per multiply-add"
    return Claim(key, f"Shared memory halves naive time, `{form}`", naive, shared, HALVED, cause=cause)


def add_copies(study, selection):
    """The rows of a selection; to the seconds of a call, the copies to the GPU and back in its process are added."""
    rows, copies = study.rows(selection), required(study.phases(selection, before=True))
    times = copies.groupby(["process", "phase"])["seconds"].median().groupby("process").sum()
    return rows.assign(seconds=rows["seconds"] + rows["process"].map(times))


def over_copies(study):
    """The time of an epoch by OpenBLAS over an epoch on the GPU with its copies."""
    return ratios.of(study.rows(training("blas", BEST)), add_copies(study, FEW_IMAGES))


def products_over_the_rest(study, selection=LOOPS):
    """The time of an epoch's products over that of its other operations, where these add up to it."""
    phases = required(study.phase_shares(selection))
    return study.ratio_to_rest(selection, [name for name in sorted(phases) if name.split(" ")[0] in KINDS])


def share_of_products(study, ratio):
    """Both shares of products in an epoch, as a cause."""
    share = percent(share_of(required(ratio)))
    try:
        return f"{share}; with `blas` {percent(share_of(products_over_the_rest(study, BLAS)), 2)}"
    except NotMeasured:
        return share


def share_of(ratio):
    """The share of the whole, from the ratio to the rest."""
    return ratio.value / (1 + ratio.value)


def peer(name):
    """The claim that our training beats a peer on the host, with larger batches as the cause."""
    sides = [
        [select(f"peers/{side}", source, threads=COMMON) for side in (name, "tiled")]
        for source in ("peers", "peers, larger")
    ]
    cause = Cause(f"in batches of {num(LARGER_BATCH)}", *sides[1])
    return Claim(f"peer/{name}", f"Training with `tiled` over `{name}`", *sides[0], needs="both", cause=cause)


def faster_claim(key, slower, faster, claimed, cause):
    """The claim that a product is at least `claimed` times as fast as another."""
    return Claim(key, f"`{faster}` over `{slower}`", slower, faster, claimed, cause=cause)


TRANSFERS = f"Copies bring cuBLAS close to OpenBLAS on {BEST} threads"
NO_COPIES = Cause("without copies", training("blas", BEST), FEW_IMAGES)
SHARES = {"min": SHARE / (1 - SHARE), "ratio": products_over_the_rest, "cause": share_of_products}
OVER_PYTORCH = "Training with `cuda_mma` over PyTorch's graph"
OVER_EAGER = Cause("over PyTorch without a graph", EAGER, MMA)
EARLIER = [
    by_threads("levels-off", f"Time levels off from {LEVEL} threads", LEVEL, BEST, 1),
    by_threads("worse", f"Best on {BEST} threads, worse on {WORSE}", WORSE, BEST, float("inf")),
    blas_leads("serial", 1, "one thread"),
    blas_leads("parallel", BEST, f"{BEST} threads"),
    *map(shared_memory, FORMS),
    Claim("transfers", TRANSFERS, max=1, margin=CLOSE, needs="both trainings", cause=NO_COPIES, ratio=over_copies),
    Claim("share", f"Products are over {percent(SHARE, 2)} (over the rest)", needs="an epoch by operation", **SHARES),
]
RUNGS = [
    faster_claim("interchanged", "openmp", "interchanged", VECTORS, "vectors, rows in order"),
    tie("tiled", "Training with `tiled` as fast as with `blas`", training("tiled", 1), BLAS, cause="packed panels"),
    tie("compiled", "`openmp` as fast as in C ($512^3$)", *COMPILED, needs="both", cause="the same loops"),
    faster_claim("columns", "cuda_shared", "cuda_columns", 2, "one operand stays in a register"),
    faster_claim("registers", "cuda_shared", "cuda_tiled", 4, "a load serves eight multiply-adds"),
    faster_claim("tensor-cores", "cuda_tiled", "cuda_mma", 2, "twice the multiply-adds a cycle"),
    tie("mma", "`cuda_mma` as fast as `cublas`", "cuda_mma", "cublas"),
    tie("tf32", "`cuda_mma` as fast as `cublas`, both TF32", "tf32/cuda_mma", "tf32/cublas", needs="both"),
    Claim("graph", "A CUDA graph halves an epoch with `cublas`", *CUBLAS, 2, needs="both forms", cause=BY_SHARED),
    peer("numpy_loop"),
    peer("pytorch"),
    Claim("peer/pytorch_cuda", OVER_PYTORCH, PYTORCH, MMA, needs="both", cause=OVER_EAGER),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
