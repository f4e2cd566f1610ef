"""The claims about back-propagation, of the earlier study and behind our rungs."""

from functools import partial
from itertools import pairwise

from ladder.report import ratios
from ladder.report.telling.claims import share_of_floor
from ladder.report.telling.lines import COMMON, FLOOR, Cause, Claim, select
from ladder.workloads.backprop.paper.lines import LOOPS, STEPS, changed

# The earlier study on one thread, in seconds: the program before and after tuning, its weight change before, and what
# the order of the loops saved.
BEFORE, AFTER = 250.0, 10.0
WEIGHT_CHANGE, LOOP_ORDER_SAVED = 220.0, 150.0
NEAR = 2  # the maximum time for "near", in floors
ONE_THREAD = select("tuned", threads=1)
TUNED, NUMPY, BY_HAND, AUTOGRAD = (select(key, threads=COMMON) for key in ("tuned", "numpy_loop", "by hand", "pytorch"))


def by_flags(line, flags="O2"):
    """The line of a loop with flags, over fewer images."""
    return select(line, "flags", flags=flags)


def weight_change(study, block="weight change"):
    """The time of a macro block of the untuned program over that of all other blocks."""
    return study.ratio_to_rest("before", [block])


def loops_and_tiles(study, ratio):
    """The two factors of a speed-up, as a cause."""
    loops, tiles = (ratios.short(study.ratio(*pair).value) for pair in pairwise(("before", "all flags", ONE_THREAD)))
    return f"loops, flags: {loops}, tiles: {tiles}"


def technique(above, name):
    """The claim that a technique gains time when both sides are compiled with all flags."""
    cause, sides = Cause("at `O2`", by_flags(above), by_flags(name)), (by_flags(line, "all") for line in (above, name))
    return Claim(
        f"technique/{name}", f"`{name}` gains beyond all flags", *sides, needs="both rungs by flags", cause=cause
    )


def bounds(name):
    """The claim that bounds checks cost time, although the compiler, which knows no pointer's bounds, inserts none."""
    sides, cause = (by_flags(name, "bounds"), by_flags(name)), "no check, but other code"
    return Claim(f"bounds/{name}", f"Bounds checks slow `{name}`", *sides, needs="a rung by flags", cause=cause)


def tuning(line, key, words, name, slower, faster, cause):
    """The claim that one value of a tuning is faster than another; a cause may be (words, slower, faster)."""
    if isinstance(cause, tuple):
        cause = Cause(cause[0], *(changed(line, **{name: value}) for value in cause[1:]))
    sides = (changed(line, **{name: value}) for value in (slower, faster))
    return Claim(key, words, *sides, needs="both tunings", cause=cause)


shared, kernels, flat = (partial(tuning, line) for line in ("openmp", "cuda_kernels", "cuda_flat"))
PRODUCTS = Cause("the products", ratio=partial(weight_change, block="products"))
WITH_FLAGS = Cause("with all flags", by_flags("before", "all"), by_flags("loop_order", "all"))
WITHOUT_FLAGS = Cause("without flags", "before", "associativity")
ALONE = Cause("techniques alone", by_flags("before"), by_flags(LOOPS[-1]))
SIDES = by_flags("before"), by_flags("before", "all")
ON_ONE = Cause("on one thread", "serial", select("tasks", threads=1))
OWNERS, GUIDED = ("rows owned by threads", "owner", "accumulators"), ("`guided`", "static", "guided")
READ_ONLY, NATIVE = ("read-only loads", "global", "readonly"), ("native atomics", "atomic", "block")
ONE_ADDITION = "one addition per pattern"
HEAVY, SAVED = WEIGHT_CHANGE / (BEFORE - WEIGHT_CHANGE), BEFORE / (BEFORE - LOOP_ORDER_SAVED)
HEAVIEST, BY_BLOCK = "The weight change outweighs the rest", "`before` by block"
EARLIER = [
    Claim("weight-change", HEAVIEST, None, None, HEAVY, needs=BY_BLOCK, cause=PRODUCTS, ratio=weight_change),
    Claim("loop-order", "Loop order gains most", "before", "loop_order", SAVED, cause=WITH_FLAGS),
    Claim("whole", "All steps and flags, one thread", "before", "all flags", BEFORE / AFTER, cause=WITHOUT_FLAGS),
    *(technique(above, name) for above, name in pairwise(STEPS)),
    Claim("flags-alone", "Flags alone speed up `before`", *SIDES, needs="`before` by flags", cause=ALONE),
    *map(bounds, STEPS),
    shared("atomic-update", "Per-thread sums beat atomic updates", "update", "atomic", "accumulators", OWNERS),
    shared("atomic-error", "A reduction beats an atomic sum", "error", "atomic", "reduction", ONE_ADDITION),
    shared("schedule", "Dynamic schedules beat static ones", "schedule", "static", "dynamic", GUIDED),
    shared("simd", "SIMD directives help", "simd", 0, 1, "at `native` flags"),
    Claim("tasks", "Tasks speed up the input", "serial", "tasks", needs="both forms", cause=ON_ONE),
    flat("index", "Offsets beat walking the layers", "index", "walk", "offsets", "few layers to walk"),
    kernels("shared", "Shared memory helps", "operands", "global", "shared", "a tile is loaded once per block"),
    kernels("constant", "Constant memory helps", "scalars", "argument", "constant", "arguments lie there, too"),
    kernels("texture", "Textures help", "tables", "global", "texture", READ_ONLY),
    kernels("emulated", "Block sums beat emulated atomics", "error", "emulated", "block", NATIVE),
]
peer = partial(Claim, needs="both")
LOCAL, FEWER_PASSES = "a block stays in the cache", "fewer passes over memory"
BY_AUTOGRAD = Cause("by autograd", AUTOGRAD, TUNED)
CEILINGS, SHARE_OF_FLOOR = "the rung and ceilings", share_of_floor("the floor is {} of it")
RUNGS = [
    Claim("hundredfold", "`tuned` over `before`, one thread", "before", ONE_THREAD, 100, cause=loops_and_tiles),
    peer("peer/numpy_loop", "`tuned` over `numpy_loop`", NUMPY, TUNED, 1.5, cause=LOCAL),
    peer("peer/pytorch", "`tuned` over `pytorch` by hand", BY_HAND, TUNED, 1.3, cause=BY_AUTOGRAD),
    peer("fused", "`cuda_fused` over PyTorch", "pytorch_cuda", "cuda_fused", 1.3, cause=FEWER_PASSES),
    Claim("floor", "`cuda_fused` near its floor", "cuda_fused", FLOOR, 0, NEAR, needs=CEILINGS, cause=SHARE_OF_FLOOR),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
