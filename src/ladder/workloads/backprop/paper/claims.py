"""The claims about back-propagation, of the earlier study and of ours."""

from functools import partial
from itertools import pairwise

from ladder.report import ratios
from ladder.report.telling.chapter_study import NotMeasured, required
from ladder.report.telling.claims import share_of_floor
from ladder.report.telling.lines import COMMON, FLOOR, Cause, Claim, select
from ladder.store.study import where
from ladder.workloads.backprop.paper import earlier
from ladder.workloads.backprop.paper.lines import TECHNIQUES, changed

CHANGE = "weight change"
SHARES = 0.82, 0.92  # "about 220 of more than 250 s", a share of 0.87 or so
TUNED, NUMPY, BY_HAND = (select(key, threads=COMMON) for key in ("tuned", "numpy_loop", "by hand"))
ONE_THREAD = select("tuned", threads=1)
BEFORE, LOOPS = "before", ("contiguous", *TECHNIQUES)
FIRST = BEFORE, "loop_order"
UNOPTIMISED = [select(key, "unoptimised", flags="none") for key in FIRST]


def weight_change(study, before=BEFORE):
    """The time of the weight change of the untuned program over that of all other blocks."""
    return study.ratio_to_rest(before, [CHANGE])


def block_by_order(study, *sides):
    """The time of the weight change of the untuned program over that of the next one."""
    return required(ratios.of_parts(*(where(study.phases(side), phase=CHANGE) for side in sides or FIRST)))


def unknown_schedule(study):
    """There is nothing to test in a schedule of which only its author knows that it was the best."""
    raise NotMeasured(needs="the name of the schedule, which the study does not give")


def loops_and_tiles(study, ratio):
    """The two factors of a speed-up, as a cause."""
    loops, tiles = (ratios.short(study.ratio(*pair).value) for pair in pairwise((BEFORE, "last", ONE_THREAD)))
    return f"loops, flags: {loops}, tiles: {tiles}"


def tuning(line, key, words, name, slower, faster, cause=None, **options):
    """The claim that one value of a tuning is faster than another, or what the options say."""
    sides = (changed(line, **{name: value}) for value in (slower, faster))
    return Claim(key, words, *sides, needs="both tunings", cause=cause, **options)


def with_flags(line):
    """A rung, compiled with the study's flags."""
    return select(line, flags="study")


def technique(above, name):
    """The study's claim that a technique helped, at `O2`, since its flags came last."""
    cause = Cause("with its flags", with_flags(above), with_flags(name))
    return Claim(f"technique/{name}", f"`{name}` helps", above, name, cause=cause, place="list")


def beyond_flags(above, name):
    """Whether a technique still gains where the compiler has all of the study's flags."""
    sides = with_flags(above), with_flags(name)
    return Claim(f"beyond-flags/{name}", f"`{name}` gains beyond the flags", *sides, needs="both rungs with flags")


shared, kernels, flat = (partial(tuning, line) for line in ("openmp", "cuda_kernels", "cuda_flat"))
ONE, LIST, OPENMP, ON_GPU = ({"place": place} for place in ("Monothread", "list", "OpenMP", "CUDA"))
SHARE = tuple(share / (1 - share) for share in SHARES)
WHOLE, ORDER, BLOCK = earlier.WHOLE_GAIN, earlier.ORDER_GAIN, earlier.BLOCK_GAIN
unoptimised = partial(Cause, "unoptimised")
ATOMIC_ERROR, ATOMIC = (changed("openmp", **{name: "atomic"}) for name in ("error", "update"))
BASE, SERIAL, BOTH = changed("openmp"), "serial loops", "both on one machine"
REDUCTION = Cause("over a reduction", ATOMIC_ERROR, BASE)
TIE = {"min": 1, "max": 1}
SHARE_THEN = unoptimised(ratio=partial(weight_change, before=UNOPTIMISED[0]))
BLOCK_THEN = unoptimised(ratio=lambda study: block_by_order(study, *UNOPTIMISED))
EARLIER = [
    Claim(
        "share",
        "Weight change over the rest",
        None,
        None,
        *SHARE,
        needs="blocks",
        ratio=weight_change,
        cause=SHARE_THEN,
        **ONE,
    ),
    Claim("loop-order", "Its loop over patterns outside", *FIRST, ORDER, ORDER, cause=unoptimised(*UNOPTIMISED), **ONE),
    Claim(
        "loop-order/block",
        "The same, the block alone",
        None,
        None,
        BLOCK,
        BLOCK,
        ratio=block_by_order,
        cause=BLOCK_THEN,
        **ONE,
    ),
    Claim(
        "whole", "All steps and flags", BEFORE, "last", WHOLE, WHOLE, cause=unoptimised(UNOPTIMISED[0], "last"), **ONE
    ),
    *(technique(above, name) for above, name in pairwise(LOOPS)),
    Claim("flags", "Flags help the tuned program", "associativity", "last", **LIST),
    Claim(
        "atomic-error", "Threads outweigh an atomic error", SERIAL, ATOMIC_ERROR, needs=BOTH, cause=REDUCTION, **OPENMP
    ),
    Claim("tasks", "Tasks speed up the input", "serial", "tasks", needs="both forms", **OPENMP),
    Claim("atomic-update", "Atomic updates undo the gain", ATOMIC, SERIAL, needs=BOTH, **OPENMP),
    Claim("own-sums", "Updates without atomics gain", SERIAL, BASE, needs=BOTH, **OPENMP),
    Claim("schedule", "One schedule is best", needs="a schedule", ratio=unknown_schedule, **OPENMP),
    kernels("shared", "Shared operands are fastest", "operands", "global", "shared", **ON_GPU),
    kernels("constant", "Constants tie with arguments", "scalars", "constant", "argument", **TIE, **ON_GPU),
    kernels("texture", "Textures are very fast", "tables", "global", "texture", **ON_GPU),
    kernels("emulated", "Block sums beat emulated atomics", "error", "emulated", "block", **ON_GPU),
]
peer = partial(Claim, needs="both")
CEILINGS, SHARE_OF_FLOOR = "the rung and ceilings", share_of_floor("the floor is {} of it")
OWN = [
    Claim("rows", "Rows in the forward pass gain", "loop_order", "contiguous"),
    *(beyond_flags(above, name) for above, name in pairwise(LOOPS)),
    Claim("tuned", "`tuned` beats `before`, one thread", BEFORE, ONE_THREAD, cause=loops_and_tiles),
    peer("peer/numpy_loop", "`tuned` beats `numpy_loop`", NUMPY, TUNED),
    peer("peer/pytorch", "`tuned` beats `pytorch` by hand", BY_HAND, TUNED),
    *(
        shared(name, f"`{name}` ties with `static`", "schedule", "static", name, **TIE)
        for name in ("dynamic", "guided")
    ),
    flat("index", "Offsets beat walking the layers", "index", "walk", "offsets"),
    peer("fused", "`cuda_fused` beats PyTorch", "pytorch_cuda", "cuda_fused"),
    Claim("floor", "`cuda_fused` reaches its floor", "cuda_fused", FLOOR, needs=CEILINGS, cause=SHARE_OF_FLOOR, **TIE),
]
CLAIMS = {"earlier": EARLIER, "own": OWN}
