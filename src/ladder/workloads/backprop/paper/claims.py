"""What is claimed of back-propagation, by the earlier study and by our rungs."""

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
TUNED, ONE_THREAD = select("tuned", threads=COMMON), select("tuned", threads=1)


def flagged(line, flags="O2"):
    """A loop with flags, over fewer images."""
    return select(line, "flags", flags=flags)


def over_the_rest(block):
    """A function: the time of a macro block of the untuned program over that of all others."""
    return lambda study: study.over_the_rest("before", [block])


def products(study, ratio):
    """The same of the products, as a cause."""
    return f"the products: {short(over_the_rest('products')(study))}"


def loops_and_tiles(study, ratio):
    """What a gain consists of, as a cause."""
    loops, tiles = (study.ratio(*pair) for pair in pairwise(("before", "all flags", ONE_THREAD)))
    return f"loops, flags: {short(loops)}, tiles: {short(tiles)}"


def tuning(key, words, line, name, slower, faster, cause=None):
    """The claim that one value of a tuning is faster than another; the cause may be (words, slower, faster)."""
    if isinstance(cause, tuple):
        cause = Cause(cause[0], *(changed(line, **{name: value}) for value in cause[1:]))
    sides = (changed(line, **{name: value}) for value in (slower, faster))
    return Claim(key, words, *sides, needs="both tunings", cause=cause)


EARLIER = [
    Claim(
        "weight-change",
        "The weight change outweighs the rest",
        min=WEIGHT_CHANGE / (BEFORE - WEIGHT_CHANGE),
        needs="`before` by block",
        cause=products,
        ratio=over_the_rest("weight change"),
    ),
    Claim(
        "loop-order",
        "The order of loops gains most",
        "before",
        "loop_order",
        BEFORE / (BEFORE - LOOP_ORDER_SAVED),
        cause=Cause("with all flags", flagged("before", "all"), flagged("loop_order", "all")),
    ),
    Claim(
        "whole",
        "All steps and flags, one thread",
        "before",
        "all flags",
        BEFORE / AFTER,
        cause=Cause("without flags", "before", "associativity"),
    ),
    *(
        Claim(
            f"technique/{name}",
            f"`{name}` adds to all flags",
            flagged(above, "all"),
            flagged(name, "all"),
            needs="both rungs by flags",
            cause=Cause("at `O2`", flagged(above), flagged(name)),
        )
        for above, name in pairwise(STEPS)
    ),
    Claim(
        "flags-alone",
        "Flags alone help `before`",
        flagged("before"),
        flagged("before", "all"),
        needs="`before` by flags",
        cause=Cause("techniques alone", flagged("before"), flagged(LOOPS[-1])),
    ),
    # The compiler knows no pointer's bounds, so that it makes no check.
    *(
        Claim(
            f"bounds/{name}",
            f"Checks asked for slow `{name}`",
            flagged(name, "bounds"),
            flagged(name),
            needs="a rung by flags",
            cause="none is made: other code",
        )
        for name in STEPS
    ),
    tuning(
        "atomic-update",
        "Threads' sums beat atomic updates",
        "openmp",
        "update",
        "atomic",
        "accumulators",
        ("rows of owners", "owner", "accumulators"),
    ),
    tuning(
        "atomic-error",
        "A reduction beats atomic errors",
        "openmp",
        "error",
        "atomic",
        "reduction",
        "one addition a pattern",
    ),
    tuning(
        "schedule",
        "Dynamic schedules beat static ones",
        "openmp",
        "schedule",
        "static",
        "dynamic",
        ("`guided`", "static", "guided"),
    ),
    tuning("simd", "Asking for vectors helps", "openmp", "simd", 0, 1, "at `native` flags"),
    Claim(
        "tasks",
        "Tasks speed up the input",
        "serial",
        "tasks",
        needs="both forms",
        cause=Cause("on one thread", "serial", select("tasks", threads=1)),
    ),
    tuning("index", "Offsets beat a walk of the layers", "cuda_flat", "index", "walk", "offsets", "few layers to walk"),
    tuning(
        "shared", "Shared memory helps", "cuda_kernels", "operands", "global", "shared", "a tile is read once a block"
    ),
    tuning(
        "constant",
        "Constant memory helps",
        "cuda_kernels",
        "scalars",
        "argument",
        "constant",
        "so do arguments lie there",
    ),
    tuning(
        "texture",
        "Textures help",
        "cuda_kernels",
        "tables",
        "global",
        "texture",
        ("read-only loads", "global", "readonly"),
    ),
    tuning(
        "emulated",
        "Blocks' sums beat emulated atomics",
        "cuda_kernels",
        "error",
        "emulated",
        "block",
        ("native atomics", "atomic", "block"),
    ),
]
RUNGS = [
    Claim("hundredfold", "`tuned` over `before`, one thread", "before", ONE_THREAD, 100, cause=loops_and_tiles),
    Claim(
        "peer/numpy_loop",
        "`tuned` over `numpy_loop`",
        select("numpy_loop", threads=COMMON),
        TUNED,
        1.5,
        needs="both",
        cause="a block stays in the cache",
    ),
    Claim(
        "peer/pytorch",
        "`tuned` over `pytorch` by hand",
        select("by hand", threads=COMMON),
        TUNED,
        1.3,
        needs="both",
        cause=Cause("by autograd", select("pytorch", threads=COMMON), TUNED),
    ),
    Claim(
        "fused",
        "`cuda_fused` over PyTorch",
        "pytorch_cuda",
        "cuda_fused",
        1.3,
        needs="both",
        cause="fewer passes over memory",
    ),
    Claim(
        "floor",
        "`cuda_fused` near its floor",
        "cuda_fused",
        FLOOR,
        0,
        NEAR,
        needs="the rung and ceilings",
        cause=lambda study, ratio: ratio and f"{percent(1 / ratio.value, 2)} of the floor",
    ),
]
CLAIMS = {"earlier": EARLIER, "rungs": RUNGS}
