"""The claims about the generator, of the earlier study and our own."""

from functools import partial

from ladder.report import ratios
from ladder.report.telling.chapter_study import required
from ladder.report.telling.lines import FLOOR, Cause, Claim, select
from ladder.store.study import by_case, fastest, middle, where
from ladder.workloads.dcgan.paper import earlier
from ladder.workloads.dcgan.paper.lines import IMAGES, on_gpus, starts

MARGIN = 0.05  # of a claim of equality
NEAR = 1 / 0.85  # of the time at the ceiling; a shorter time is near it
ratio_cause = partial(Cause, has_interval=True)
peer = partial(Claim, needs="both", cause="exact sizes, fused layers")
CEILINGS, NO_PRODUCTS = "the rung and ceilings", "time includes projection, tanh"


def copied(memory, copies, math="float16"):
    """The selection of a call with copies to the host; with pinned memory in float16, cases state no defaults."""
    tuning = {"memory": memory, "copies": copies}
    if math == "float16" and memory == "pinned":
        tuning = {} if copies == "hidden" else {"copies": copies}
    return select(f"copied-{math}", **tuning)


def one_operand(study, others="cuda_columns"):
    """The ratio of the best time with both operands in shared memory to the best time of the variant `others`."""
    rows = study.frame("products")
    return ratios.of_best(fastest(where(rows, variant="cuda_shared")), by_case(where(rows, variant=others)))


def start_up_claim(key, words, sides, cause):
    """The claim that the second of two sides is faster if the start of the process is included."""

    def ratio(study):
        return ratios.of(*(starts(study.find(side)) for side in sides))

    return Claim(key, f"{words}, with start-up", needs="both, with start-up", cause=cause, ratio=ratio)


def more_gpus_claim(word, role, count, images):
    """The claim that `count` GPUs are faster than half as many; the earlier study had `count` in each of two nodes."""
    sides = [on_gpus("threads", role, number, images) for number in (count // 2, count)]
    earlier_ratio = ratios.short(earlier.CALLS[count][images] / earlier.CALLS[2 * count][images])
    cause = ratio_cause(f"then {earlier_ratio}, call alone", *sides)
    return start_up_claim(f"{word.lower()}-gpus", f"{word} GPUs at {images}", sides, cause)


def kernels(math):
    """The fastest kernels with all pictures in one batch."""
    return select("window", batch=IMAGES) if math == "float32" else select("tma", math=math, batch=IMAGES)


def kernels_and_link(study, math):
    """The rows of `kernels` and of the copies of all their pictures to the host."""
    selection = kernels(math)
    link = where(study.phases(selection, before=True), phase="to host")
    return study.rows(selection), required(link)


def hidden_claim(math, line, words):
    """The claim that a call takes no longer than its kernels or its copies, whichever are slower."""

    def ratio(study):
        return ratios.of(study.rows(line), max(kernels_and_link(study, math), key=middle))

    def cause(study, ratio):
        computing, link = kernels_and_link(study, math)
        return f"link over kernels {ratios.short(ratios.of(link, computing).value)}"

    text, needs = f"`home` as fast as kernels or link, {words}", "the call, kernels and link"
    return Claim(f"home/{math}", text, None, None, 1, 1, MARGIN, needs, cause, ratio)


PINNED, STAGED, PAGEABLE = (copied(memory, "hidden") for memory in ("pinned", "staged", "pageable"))
AFTER = copied("pinned", "after")
OVER_STAGED, IMPLICIT = ratio_cause("staged", STAGED, PINNED), ratio_cause("implicit", "four", "three")
FLOAT32 = ratio_cause("in float32", *(copied("pinned", copies, "float32") for copies in ("after", "hidden")))
TILED = ratio_cause("`cuda_tiled`", ratio=partial(one_operand, others="cuda_tiled"))
TWO, THREE, FOUR = (select("split", split=first) for first in (2, 3, 4))  # first layers as products
FULL = "a product fills the GPU"
BATCHES = [select("window", batch=number) for number in (1, earlier.BATCH)]
FEW_PICTURES = [on_gpus("threads", "two", count, earlier.ONE_UP_TO) for count in (2, 1)]
THREADS, RANKS, IN_HALF = ([on_gpus(way, "two", count) for count in (1, 2)] for way in ("threads", "ranks", "half"))
HALF, ONE_RANK = ratio_cause("half precision", *IN_HALF), ratio_cause("over one rank", *RANKS)
EARLIER = [
    Claim("parity", "Loops at the right parity, GPU", "naive", "gpu-parity", earlier.PARITY_GAIN),
    Claim("two", "A split of 3 + 1 over 2 + 2", TWO, THREE, needs="both splits", cause="a third product"),
    Claim("split", "A split of 3 + 1 over 4 + 0", FOUR, THREE, needs="both splits", cause=IMPLICIT),
    Claim("registers", "One operand in a register over none", needs="both products", cause=TILED, ratio=one_operand),
    Claim("batch", f"Batches of {earlier.BATCH} images over one", *BATCHES, needs="both batches", cause=FULL),
    Claim("hidden", "Hidden copies, half precision", AFTER, PINNED, needs="both forms", cause=FLOAT32),
    Claim("pinned", "Pinned over pageable, half precision", PAGEABLE, PINNED, needs="both memories", cause=OVER_STAGED),
    start_up_claim("one-gpu", f"One GPU up to {earlier.ONE_UP_TO}", FEW_PICTURES, "GPUs start in turn"),
    more_gpus_claim("Two", "two", 2, earlier.TWO_UP_TO),
    more_gpus_claim("Four", "four", 4, IMAGES),
]
RUNGS = [
    Claim("host-parity", "`parity` over `loops`, one thread", "loops", "parity", 3, cause="vectors, no branch"),
    Claim("host-peer", "`tuned` over PyTorch, all threads", "pytorch", "tuned", needs="both", cause="exact sizes"),
    Claim("ceiling", "Near the ceiling, float32", "window", FLOOR, 0, NEAR, needs=CEILINGS, cause=NO_PRODUCTS),
    peer("peer/home", "`home` over PyTorch, float32", "peer-home", "home", 1 / 0.6),
    peer("peer/home-tma-tf32", "`home` over PyTorch, TF32", "peer-home-tf32", "home-tma-tf32", 1 / 0.65),
    peer("peer/home-tma", "`home` over PyTorch, half precision", "peer-home-float16", "home-tma", 1 / 0.75),
    hidden_claim("float32", "home", "float32"),
    hidden_claim("tf32", "home-tma-tf32", "TF32"),
    hidden_claim("float16", "home-tma", "half"),
    Claim("gpus", f"Two GPUs over one, {IMAGES} pictures", *THREADS, 1.8, needs="both numbers of GPUs", cause=HALF),
    Claim("ranks", "Ranks over threads, two GPUs", THREADS[1], RANKS[1], 1, 1, MARGIN, "both on two GPUs", ONE_RANK),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
