"""The claims about back-propagation, of the earlier study and of ours."""

from functools import partial
from itertools import pairwise

from ladder.report.telling.claims import floor_claim, join_causes
from ladder.report.telling.lines import COMMON, EQUAL, Cause, Claim, equals, select
from ladder.workloads.backprop.paper import earlier
from ladder.workloads.backprop.paper.lines import BASES, TECHNIQUES, changed_base

CHANGE = "weight change"
TUNED, *PEERS = (select(key, threads=COMMON) for key in ("tuned", "numpy_loop", "by hand", "compiled"))
ONE_THREAD = select("tuned", threads=1)
# The study's techniques, each compared with the loops before it: at `O2`, since the study's flags came last.
STEPS = {name: (above, name) for above, name in pairwise(("contiguous", *TECHNIQUES))}
STEPS_WITH_FLAGS = {name: [select(line, flags="study") for line in lines] for name, lines in STEPS.items()}
LOOP_ORDERS = select("before"), select("loop_order")
UNOPTIMISED_ORDERS = [select(side.line, "unoptimised", flags="none") for side in LOOP_ORDERS]


def tuning_claim(line, key, words, tuning, slower, faster, **options):
    """The claim that one value of a tuning is faster than another; `options` are further arguments of Claim."""
    sides = (changed_base(line, **{tuning: value}) for value in (slower, faster))
    return Claim(key, words, *sides, needs="both tunings", **options)


MONOTHREAD, ON_THREADS, ON_GPU = ({"place": place} for place in ("Monothread", "OpenMP", "CUDA"))  # of the study
SCHEDULE_NAME = "the name of the schedule, which the study does not give"
ON_ONE_HOST, NEEDS_BLOCKS = ON_THREADS | {"needs": "both on one machine"}, MONOTHREAD | {"needs": "blocks"}
# The range of the time of the weight change over the rest: "about 220 of more than 250 s", a share of 0.87 or so.
SHARE_RANGE = {end: share / (1 - share) for end, share in (("min", 0.82), ("max", 0.92))}
WHOLE_RANGE, ORDER_RANGE, BLOCK_RANGE = map(equals, (earlier.WHOLE_GAIN, earlier.ORDER_GAIN, earlier.BLOCK_GAIN))
unoptimised_cause, flags_cause = (partial(Cause, f"{words}:") for words in ("unoptimised", "with the flags"))
CHANGE_AND_REST = LOOP_ORDERS[0].phase(CHANGE), LOOP_ORDERS[0].without(CHANGE)
UNOPTIMISED_CHANGE_AND_REST = UNOPTIMISED_ORDERS[0].phase(CHANGE), UNOPTIMISED_ORDERS[0].without(CHANGE)
BLOCKS, UNOPTIMISED_BLOCKS = ([side.phase(CHANGE) for side in sides] for sides in (LOOP_ORDERS, UNOPTIMISED_ORDERS))
SHARE_CAUSE = unoptimised_cause(*UNOPTIMISED_CHANGE_AND_REST, **SHARE_RANGE)
ORDER_CAUSE = unoptimised_cause(*UNOPTIMISED_ORDERS, **ORDER_RANGE)
BLOCK_CAUSE = unoptimised_cause(*UNOPTIMISED_BLOCKS, **BLOCK_RANGE)
WHOLE_CAUSE = unoptimised_cause(UNOPTIMISED_ORDERS[0], "last", **WHOLE_RANGE)
ATOMIC_ERROR, ATOMIC_UPDATE = (changed_base("openmp", **{name: "atomic"}) for name in ("error", "update"))
OPENMP_BASE, SERIAL = changed_base("openmp"), "serial loops"
SUM_CAUSE = Cause("over a reduction:", ATOMIC_ERROR, OPENMP_BASE)
kernels_claim, flat_claim, openmp_claim = (partial(tuning_claim, key) for key in BASES)
EARLIER_CLAIMS = [
    Claim("share", "Weight change over the rest", *CHANGE_AND_REST, cause=SHARE_CAUSE, **SHARE_RANGE, **NEEDS_BLOCKS),
    Claim("loop-order", "Loop over patterns outermost", *LOOP_ORDERS, cause=ORDER_CAUSE, **ORDER_RANGE, **MONOTHREAD),
    Claim("loop-order/block", "The same, the block alone", *BLOCKS, cause=BLOCK_CAUSE, **BLOCK_RANGE, **MONOTHREAD),
    Claim("whole", "All steps and flags", "before", "last", cause=WHOLE_CAUSE, **WHOLE_RANGE, **MONOTHREAD),
    *(
        Claim(f"technique/{name}", f"`{name}` helps", *lines, cause=flags_cause(*STEPS_WITH_FLAGS[name]), place="list")
        for name, lines in STEPS.items()
    ),
    Claim("flags", "Flags help `associativity`", "associativity", "last", place="list"),
    Claim("atomic-error", "Threads outweigh atomic error sums", SERIAL, ATOMIC_ERROR, cause=SUM_CAUSE, **ON_ONE_HOST),
    Claim("tasks", "Tasks speed up reading", "serial", "tasks", needs="both forms", **ON_THREADS),
    Claim("atomic-update", "Atomic additions undo gains", ATOMIC_UPDATE, SERIAL, **ON_ONE_HOST),
    Claim("own-sums", "Sums in threads keep gains", SERIAL, OPENMP_BASE, **ON_ONE_HOST),
    Claim("schedule", "One schedule is best", needs=SCHEDULE_NAME, ratio=lambda study: None, **ON_THREADS),
    kernels_claim("shared", "Shared operands are fastest", "operands", "global", "shared", **ON_GPU),
    Claim("constant", "Constants tie with registers", needs="scalars in registers", ratio=lambda study: None, **ON_GPU),
    kernels_claim("texture", "Textures are very fast", "tables", "global", "texture", **ON_GPU),
    kernels_claim("emulated", "Block sums beat emulated atomics", "error", "emulated", "block", **ON_GPU),
]
LOOPS_AND_TILES_CAUSE = join_causes(Cause("loops, flags:", "before", "last"), Cause("tiles:", "last", ONE_THREAD))
peer_claim = partial(Claim, needs="both")
OUR_CLAIMS = [
    kernels_claim("argument", "Constants tie with arguments", "scalars", "constant", "argument", **EQUAL),
    Claim("rows", "`contiguous` beats `loop_order`", "loop_order", "contiguous"),
    *(
        Claim(f"beyond-flags/{name}", f"`{name}` gains beyond the flags", *lines, needs="both rungs with flags")
        for name, lines in STEPS_WITH_FLAGS.items()
    ),
    Claim("tuned", "`tuned` beats `before`, one thread", "before", ONE_THREAD, cause=LOOPS_AND_TILES_CAUSE),
    peer_claim("peer/numpy_loop", "`tuned` beats `numpy_loop`", PEERS[0], TUNED),
    peer_claim("peer/pytorch", "`tuned` beats `pytorch` by hand", PEERS[1], TUNED),
    peer_claim("peer/pytorch/compiled", "`tuned` beats `pytorch` by hand, compiled", PEERS[2], TUNED),
    openmp_claim("dynamic", "`dynamic` ties with `static`", "schedule", "static", "dynamic", **EQUAL),
    openmp_claim("guided", "`guided` ties with `static`", "schedule", "static", "guided", **EQUAL),
    flat_claim("index", "Offsets beat walking the layers", "index", "walk", "offsets"),
    peer_claim("fused", "`cuda_fused` beats PyTorch", "pytorch_cuda", "cuda_fused"),
    floor_claim("floor", "`cuda_fused` at the model's time", "cuda_fused"),
]
CLAIMS = {"earlier": EARLIER_CLAIMS, "own": OUR_CLAIMS}
