"""What is claimed of back-propagation, by the earlier study and by our rungs, and what the measurements say to it."""

from ladder.report import ratios, study
from ladder.report.latex import code, digits, percent
from ladder.report.rungs import MOST
from ladder.report.verdict_table import Claim
from ladder.statistics.claims import decide
from ladder.workloads.backprop.paper import earlier, model, query, rates, rungs, varied

STEPS = ("loop_order", "temporaries", "fusion", "associativity")
ONE_ADDITION = "one addition a pattern"


@study.once
def verdicts(found):
    """The claims of the earlier study and those of our rungs, with their answers."""
    host, card = query.chosen(found)
    return {"earlier": of_the_earlier_study(host, card), "rungs": of_the_rungs(host, card)}


def of_the_earlier_study(host, card):
    """What the earlier study reports, and what its techniques are good for."""
    return [
        heaviest_block(host),
        loop_order(host),
        whole(host),
        *(technique(host, name) for name in STEPS[1:]),
        flags_alone(host),
        *(bounds(host, name) for name in STEPS),
        *on_threads(host),
        *on_the_card(card),
    ]


def of_the_rungs(host, card):
    """What our rungs claim."""
    return [
        hundredfold(host),
        *against_peers(host),
        fused(card),
        floor(card),
    ]


def of_lines(found, one, other):
    """The time of an epoch by one line of the ladder over that by another, each (variant, tuning)."""
    return ratios.of(*(rungs.Line(variant, tuning).rows(found.ladder) for variant, tuning in (one, other)))


def said(what, ratio):
    """An ablation as a cause, or None where it wasn't measured."""
    return f"{what}: {ratios.times(digits(ratio.value, 2))}" if ratio else None


def heaviest_block(found):
    rows = rungs.line("before").rows(found.ladder)
    parts = found.phases
    now = query.over_the_rest(rows, parts, "weight change")
    claimed = earlier.WEIGHT_CHANGE / (earlier.BEFORE - earlier.WEIGHT_CHANGE)
    cause = said("the products", query.over_the_rest(rows, parts, "products"))
    text = "The weight change outweighs the rest"
    return Claim("weight-change", text, f"{code('before')} by block", cause, decide(now, claimed))


def loop_order(found):
    now, flags = (
        of_lines(found, ("before", {"flags": "O2"}), ("loop_order", {"flags": "O2"})),
        by_flags(found, ("before", "all"), ("loop_order", "all")),
    )
    claimed = earlier.BEFORE / (earlier.BEFORE - earlier.LOOP_ORDER_SAVED)
    text = "The order of loops gains most"
    return Claim("loop-order", text, "both rungs", said("with all flags", flags), decide(now, claimed))


def whole(found):
    now, techniques = (
        of_lines(found, ("before", {"flags": "O2"}), ("associativity", {"flags": flags})) for flags in ("all", "O2")
    )
    text = "All steps and flags, one thread"
    claimed = earlier.BEFORE / earlier.AFTER
    cause = said("without flags", techniques)
    return Claim("whole", text, "both rungs", cause, decide(now, claimed))


def by_flags(found, one, other):
    """The time of one (rung, flags) over that of another, of the loops by flags."""
    return ratios.of(*(study.where(found.flags, variant=variant, flags=flags) for variant, flags in (one, other)))


def technique(found, name):
    """A technique against the compiler: what it gains where both have the best of flags."""
    above = STEPS[STEPS.index(name) - 1]
    now, plain = (by_flags(found, (above, flags), (name, flags)) for flags in ("all", "O2"))
    text = f"{code(name)} adds to all flags"
    return Claim(f"technique/{name}", text, "both rungs by flags", said(f"at {code('O2')}", plain), decide(now, 1))


def flags_alone(found):
    now, techniques = (by_flags(found, ("before", "O2"), one) for one in (("before", "all"), ("associativity", "O2")))
    text = f"Flags alone help {code('before')}"
    needs, cause = f"{code('before')} by flags", said("techniques alone", techniques)
    return Claim("flags-alone", text, needs, cause, decide(now, 1))


def bounds(found, name):
    """Whether the flag for bounds checks costs time, which can't be a check: the compiler knows no pointer's bounds."""
    now = by_flags(found, (name, "bounds"), (name, "O2"))
    text = f"Checks asked for slow {code(name)}"
    return Claim(f"bounds/{name}", text, "a rung by flags", "none is made: other code", decide(now, 1))


def change(found, form, name, slower, faster):
    """The time with one value of a tuning over that with another, the others being those of the form."""
    return ratios.of(*varied.paired(*(form.rows(found.varied, **{name: value}) for value in (slower, faster))))


def on_threads(found):
    """The ways to share and to add up on threads."""
    guided = said(code("guided"), change(found, varied.OPENMP, "schedule", "static", "guided"))
    owner = said("rows of owners", change(found, varied.OPENMP, "update", "owner", "accumulators"))
    told = (
        ("atomic-update", "Threads' sums beat atomic updates", "update", "atomic", "accumulators", owner),
        ("atomic-error", "A reduction beats atomic errors", "error", "atomic", "reduction", ONE_ADDITION),
        ("schedule", "Dynamic schedules beat static ones", "schedule", "static", "dynamic", guided),
        ("simd", "Asking for vectors helps", "simd", 0, 1, f"at {code('native')} flags"),
    )
    claims = [
        Claim(key, text, "both tunings", cause, decide(change(found, varied.OPENMP, *values), 1))
        for key, text, *values, cause in told
    ]
    return [*claims, tasks(found)]


def tasks(found):
    now, alone = (reading(found, threads) for threads in (MOST, 1))
    return Claim("tasks", "Tasks speed up the input", "both forms", said("on one thread", alone), decide(now, 1))


def reading(found, threads):
    """The time to read the images one after the other over that by tasks on so many threads."""
    by_tasks = rungs.Line("openmp_tasks", {"threads": threads}).rows(found.reading)
    return ratios.of(study.where(found.reading, variant="serial"), by_tasks)


def on_the_card(found):
    """The memories and the sums of the earlier study's kernels."""
    kernels, flat = varied.KERNELS, varied.FLAT
    readonly = said("read-only loads", change(found, kernels, "tables", "global", "readonly"))
    native = said("native atomics", change(found, kernels, "error", "atomic", "block"))
    told = (
        ("index", "Offsets beat a walk of the layers", flat, "index", "walk", "offsets", "few layers to walk"),
        ("shared", "Shared memory helps", kernels, "operands", "global", "shared", "a tile is read once a block"),
        ("constant", "Constant memory helps", kernels, "scalars", "argument", "constant", "so do arguments lie there"),
        ("texture", "Textures help", kernels, "tables", "global", "texture", readonly),
        ("emulated", "Blocks' sums beat emulated atomics", kernels, "error", "emulated", "block", native),
    )
    return [
        Claim(key, text, "both tunings", cause, decide(change(found, *values), 1)) for key, text, *values, cause in told
    ]


def hundredfold(found):
    now = of_lines(found, ("before", {"flags": "O2"}), ("tuned", {"threads": 1}))
    loops = of_lines(found, ("before", {"flags": "O2"}), ("associativity", {"flags": "all"}))
    parts = said("loops, flags", loops), said("tiles", tiles(found))
    text = f"{code('tuned')} over {code('before')}, one thread"
    return Claim("hundredfold", text, "both rungs", ", ".join(filter(None, parts)), decide(now, 100))


def tiles(found):
    """The time of an epoch by the loops with all flags over that by tiles in registers and caches, on one thread."""
    return of_lines(found, ("associativity", {"flags": "all"}), ("tuned", {"threads": 1}))


def against_peers(found):
    """The best on the host against what others would use, on as many threads: the most."""
    autograd = said("by autograd", over_tuned(found, "pytorch", rungs.PYTORCH))
    told = (
        ("numpy_loop", {}, "", 1.5, "a block stays in the cache"),
        ("pytorch", rungs.PYTORCH_BY_HAND, " by hand", 1.3, autograd),
    )
    for name, tuning, words, claimed, cause in told:
        answer = decide(over_tuned(found, name, tuning), claimed)
        yield Claim(f"peer/{name}", f"{code('tuned')} over {code(name)}{words}", "both", cause, answer)


def over_tuned(found, name, tuning):
    """The time of an epoch by a peer over that by `tuned`, on the most threads that both have."""
    both = (rungs.Line(*one).rows(found.ladder) for one in ((name, tuning), ("tuned", {})))
    return ratios.of(*varied.paired(*both))


def fused(found):
    now = of_lines(found, ("pytorch_cuda", rungs.PYTORCH_CUDA), ("cuda_fused", {"math": "default"}))
    text = f"{code('cuda_fused')} over PyTorch"
    return Claim("fused", text, "both", "fewer passes over memory", decide(now, 1.3))


def floor(found):
    rows = rungs.line("cuda_fused").rows(found.ladder)
    now = over_floor(found, rows)
    cause = f"{percent(1 / now.value, 2)} of the floor" if now else None
    text = f"{code('cuda_fused')} near its floor"
    return Claim("floor", text, "the rung and ceilings", cause, decide(now, 0, 2))


def over_floor(found, rows):
    """The time of a case over its floor, which is known exactly; None without one."""
    return ratios.over(rows, least(found, rows))


def least(found, rows):
    """The floor of a case in seconds, or None."""
    return model.floor(rows.iloc[0], rates.of_study(found.found, rows.iloc[0])) if len(rows) else None
