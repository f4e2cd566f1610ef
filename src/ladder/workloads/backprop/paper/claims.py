"""The claims about back-propagation, of the earlier study and of ours."""

from functools import partial
from itertools import pairwise

from ladder.report.telling.claims import floor_claim, join_causes, share_of_floor
from ladder.report.telling.lines import COMMON, EQUAL, Cause, Claim, equals, select
from ladder.workloads.backprop.paper import earlier
from ladder.workloads.backprop.paper.lines import TECHNIQUES, changed

CHANGE = "weight change"
TUNED, *PEERS = (select(key, threads=COMMON) for key in ("tuned", "numpy_loop", "by hand", "compiled"))
ONE_THREAD = select("tuned", threads=1)
BEFORE = "before"
# The study's techniques, each compared with the loops before it: at `O2`, since the study's flags came last.
STEPS = {name: (above, name) for above, name in pairwise(("contiguous", *TECHNIQUES))}
FLAGGED = {name: [select(line, flags="study") for line in lines] for name, lines in STEPS.items()}
FIRST = select(BEFORE), select("loop_order")
UNOPTIMISED = [select(side.line, "unoptimised", flags="none") for side in FIRST]


def tuning(line, key, words, name, slower, faster, **options):
    """The claim that one value of a tuning is faster than another, or what the options say."""
    sides = (changed(line, **{name: value}) for value in (slower, faster))
    return Claim(key, words, *sides, needs="both tunings", **options)


ONE, OPENMP, ON_GPU = ({"place": place} for place in ("Monothread", "OpenMP", "CUDA"))
NAME = "the name of the schedule, which the study does not give"
THREADS = OPENMP | {"needs": "both on one machine"}
# The time of the block over that of the rest: "about 220 of more than 250 s", a share of 0.87 or so.
SHARE = {end: share / (1 - share) for end, share in (("min", 0.82), ("max", 0.92))}
WHOLE, ORDER, BLOCK = map(equals, (earlier.WHOLE_GAIN, earlier.ORDER_GAIN, earlier.BLOCK_GAIN))
unoptimised, with_flags = (partial(Cause, f"{words}:") for words in ("unoptimised", "with its flags"))
CHANGE_AND_REST, THEIRS = ((program.phase(CHANGE), program.without(CHANGE)) for program in (FIRST[0], UNOPTIMISED[0]))
BLOCK_FIRST, BLOCK_UNOPTIMISED = ([side.phase(CHANGE) for side in sides] for sides in (FIRST, UNOPTIMISED))
SHARE_THEN, ORDER_THEN = unoptimised(*THEIRS, **SHARE), unoptimised(*UNOPTIMISED, **ORDER)
BLOCK_THEN, WHOLE_THEN = unoptimised(*BLOCK_UNOPTIMISED, **BLOCK), unoptimised(UNOPTIMISED[0], "last", **WHOLE)
ATOMIC_ERROR, ATOMIC = (changed("openmp", **{name: "atomic"}) for name in ("error", "update"))
BASE, SERIAL = changed("openmp"), "serial loops"
REDUCTION = Cause("over a reduction:", ATOMIC_ERROR, BASE)
shared, kernels, flat = (partial(tuning, line) for line in ("openmp", "cuda_kernels", "cuda_flat"))
EARLIER = [
    Claim("share", "Weight change over the rest", *CHANGE_AND_REST, needs="blocks", cause=SHARE_THEN, **SHARE, **ONE),
    Claim("loop-order", "Its loop over patterns outside", *FIRST, cause=ORDER_THEN, **ORDER, **ONE),
    Claim("loop-order/block", "The same, the block alone", *BLOCK_FIRST, cause=BLOCK_THEN, **BLOCK, **ONE),
    Claim("whole", "All steps and flags", BEFORE, "last", cause=WHOLE_THEN, **WHOLE, **ONE),
    *(
        Claim(f"technique/{name}", f"`{name}` helps", *lines, cause=with_flags(*FLAGGED[name]), place="list")
        for name, lines in STEPS.items()
    ),
    Claim("flags", "Flags help the tuned program", "associativity", "last", place="list"),
    Claim("atomic-error", "Threads outweigh an atomic error", SERIAL, ATOMIC_ERROR, cause=REDUCTION, **THREADS),
    Claim("tasks", "Tasks speed up the input", "serial", "tasks", needs="both forms", **OPENMP),
    Claim("atomic-update", "Atomic updates undo the gain", ATOMIC, SERIAL, **THREADS),
    Claim("own-sums", "Updates without atomics gain", SERIAL, BASE, **THREADS),
    Claim("schedule", "One schedule is best", needs=NAME, ratio=lambda study: None, **OPENMP),
    kernels("shared", "Shared operands are fastest", "operands", "global", "shared", **ON_GPU),
    kernels("constant", "Constants tie with arguments", "scalars", "constant", "argument", **EQUAL, **ON_GPU),
    kernels("texture", "Textures are very fast", "tables", "global", "texture", **ON_GPU),
    kernels("emulated", "Block sums beat emulated atomics", "error", "emulated", "block", **ON_GPU),
]
LOOPS_AND_TILES = join_causes(Cause("loops, flags:", BEFORE, "last"), Cause("tiles:", "last", ONE_THREAD))
peer = partial(Claim, needs="both")
OWN = [
    Claim("rows", "Rows in the forward pass gain", "loop_order", "contiguous"),
    *(
        Claim(f"beyond-flags/{name}", f"`{name}` gains beyond the flags", *lines, needs="both rungs with flags")
        for name, lines in FLAGGED.items()
    ),
    Claim("tuned", "`tuned` beats `before`, one thread", BEFORE, ONE_THREAD, cause=LOOPS_AND_TILES),
    peer("peer/numpy_loop", "`tuned` beats `numpy_loop`", PEERS[0], TUNED),
    peer("peer/pytorch", "`tuned` beats `pytorch` by hand", PEERS[1], TUNED),
    peer("peer/pytorch/compiled", "`tuned` beats `pytorch` by hand, compiled", PEERS[2], TUNED),
    shared("dynamic", "`dynamic` ties with `static`", "schedule", "static", "dynamic", **EQUAL),
    shared("guided", "`guided` ties with `static`", "schedule", "static", "guided", **EQUAL),
    flat("index", "Offsets beat walking the layers", "index", "walk", "offsets"),
    peer("fused", "`cuda_fused` beats PyTorch", "pytorch_cuda", "cuda_fused"),
    floor_claim("floor", "`cuda_fused` reaches its floor", "cuda_fused", cause=share_of_floor("the floor is {} of it")),
]
CLAIMS = {"earlier": EARLIER, "own": OWN}
