"""What is claimed of back-propagation, by the earlier study and by our rungs."""

from functools import partial
from itertools import pairwise

from ladder.report.latex import percent
from ladder.report.telling.claims import short
from ladder.report.telling.lines import COMMON, FLOOR, Cause, Claim, select
from ladder.workloads.backprop.paper.lines import LOOPS, STEPS, changed

# Seconds of the earlier study's single thread: the program before it was tuned and in the end, the change of the
# weights before, and what the order of loops saved.
BEFORE, AFTER = 250.0, 10.0
WEIGHT_CHANGE, LOOP_ORDER_SAVED = 220.0, 150.0
NEAR = 2  # times the floor, for "near"
ONE_THREAD = select("tuned", threads=1)
TUNED, NUMPY, BY_HAND, AUTOGRAD = (select(key, threads=COMMON) for key in ("tuned", "numpy_loop", "by hand", "pytorch"))


def flagged(line, flags="O2"):
    """A loop with flags, over fewer images."""
    return select(line, "flags", flags=flags)


def weight_change(study, block="weight change"):
    """The time of a macro block of the untuned program over that of all others."""
    return study.over_the_rest("before", [block])


def products(study, ratio):
    """The same of the products, as a cause."""
    return f"the products: {short(weight_change(study, 'products'))}"


def loops_and_tiles(study, ratio):
    """What a gain consists of, as a cause."""
    loops, tiles = (study.ratio(*pair) for pair in pairwise(("before", "all flags", ONE_THREAD)))
    return f"loops, flags: {short(loops)}, tiles: {short(tiles)}"


def share_of_floor(study, ratio):
    """How near a time is to its floor, as a cause."""
    return ratio and f"{percent(1 / ratio.value, 2)} of the floor"


def technique(above, name):
    """The claim that a technique gains where both have the best of flags."""
    cause, sides = Cause("at `O2`", flagged(above), flagged(name)), (flagged(one, "all") for one in (above, name))
    return Claim(f"technique/{name}", f"`{name}` adds to all flags", *sides, needs="both rungs by flags", cause=cause)


def bounds(name):
    """The claim that checks cost time, which can't be: the compiler knows no pointer's bounds."""
    words, cause = f"Checks asked for slow `{name}`", "none is made: other code"
    return Claim(f"bounds/{name}", words, flagged(name, "bounds"), flagged(name), needs="a rung by flags", cause=cause)


def tuning(line, key, words, name, slower, faster, cause):
    """The claim that one value of a tuning is faster than another; the cause may be (words, slower, faster)."""
    if isinstance(cause, tuple):
        cause = Cause(cause[0], *(changed(line, **{name: value}) for value in cause[1:]))
    sides = (changed(line, **{name: value}) for value in (slower, faster))
    return Claim(key, words, *sides, needs="both tunings", cause=cause)


shared, kernels, flat = (partial(tuning, line) for line in ("openmp", "cuda_kernels", "cuda_flat"))
WITH_FLAGS = Cause("with all flags", flagged("before", "all"), flagged("loop_order", "all"))
WITHOUT_FLAGS = Cause("without flags", "before", "associativity")
ALONE = Cause("techniques alone", flagged("before"), flagged(LOOPS[-1]))
SIDES = flagged("before"), flagged("before", "all")
ON_ONE = Cause("on one thread", "serial", select("tasks", threads=1))
OWNERS, GUIDED = ("rows of owners", "owner", "accumulators"), ("`guided`", "static", "guided")
READ_ONLY, NATIVE = ("read-only loads", "global", "readonly"), ("native atomics", "atomic", "block")
HEAVY = WEIGHT_CHANGE / (BEFORE - WEIGHT_CHANGE)
EARLIER = [
    Claim(
        "weight-change",
        "The weight change outweighs the rest",
        min=HEAVY,
        needs="`before` by block",
        cause=products,
        ratio=weight_change,
    ),
    Claim(
        "loop-order",
        "The order of loops gains most",
        "before",
        "loop_order",
        BEFORE / (BEFORE - LOOP_ORDER_SAVED),
        cause=WITH_FLAGS,
    ),
    Claim("whole", "All steps and flags, one thread", "before", "all flags", BEFORE / AFTER, cause=WITHOUT_FLAGS),
    *(technique(above, name) for above, name in pairwise(STEPS)),
    Claim("flags-alone", "Flags alone help `before`", *SIDES, needs="`before` by flags", cause=ALONE),
    *map(bounds, STEPS),
    shared("atomic-update", "Threads' sums beat atomic updates", "update", "atomic", "accumulators", OWNERS),
    shared("atomic-error", "A reduction beats atomic errors", "error", "atomic", "reduction", "one addition a pattern"),
    shared("schedule", "Dynamic schedules beat static ones", "schedule", "static", "dynamic", GUIDED),
    shared("simd", "Asking for vectors helps", "simd", 0, 1, "at `native` flags"),
    Claim("tasks", "Tasks speed up the input", "serial", "tasks", needs="both forms", cause=ON_ONE),
    flat("index", "Offsets beat a walk of the layers", "index", "walk", "offsets", "few layers to walk"),
    kernels("shared", "Shared memory helps", "operands", "global", "shared", "a tile is read once a block"),
    kernels("constant", "Constant memory helps", "scalars", "argument", "constant", "so do arguments lie there"),
    kernels("texture", "Textures help", "tables", "global", "texture", READ_ONLY),
    kernels("emulated", "Blocks' sums beat emulated atomics", "error", "emulated", "block", NATIVE),
]
peer = partial(Claim, needs="both")
LOCAL, FEWER_PASSES, BY_AUTOGRAD = (
    "a block stays in the cache",
    "fewer passes over memory",
    Cause("by autograd", AUTOGRAD, TUNED),
)
FLOOR_NEEDS = "the rung and ceilings"
RUNGS = [
    Claim("hundredfold", "`tuned` over `before`, one thread", "before", ONE_THREAD, 100, cause=loops_and_tiles),
    peer("peer/numpy_loop", "`tuned` over `numpy_loop`", NUMPY, TUNED, 1.5, cause=LOCAL),
    peer("peer/pytorch", "`tuned` over `pytorch` by hand", BY_HAND, TUNED, 1.3, cause=BY_AUTOGRAD),
    peer("fused", "`cuda_fused` over PyTorch", "pytorch_cuda", "cuda_fused", 1.3, cause=FEWER_PASSES),
    Claim(
        "floor", "`cuda_fused` near its floor", "cuda_fused", FLOOR, 0, NEAR, needs=FLOOR_NEEDS, cause=share_of_floor
    ),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
