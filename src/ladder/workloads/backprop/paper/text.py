"""What this chapter's text asks for beside what every chapter's may."""

from ladder.report import latex, rates, ratios
from ladder.report.latex import num, percent
from ladder.report.study import middle
from ladder.report.telling.chapter_study import NotMeasured, nearest, parts
from ladder.report.telling.lines import select
from ladder.workloads.backprop import cost
from ladder.workloads.backprop.paper import claims, learning, lines, model
from ladder.workloads.backprop.paper.lines import SIZE

EARLIER = {
    "before": claims.BEFORE,
    "after": claims.AFTER,
    "weight change": claims.WEIGHT_CHANGE,
    "saved by loop order": claims.LOOP_ORDER_SAVED,
}
ASSUMED = {"lines": model.LINES, "scalar": model.SCALAR, "loads": model.LOADS, "passes": model.PASSES}


def layers(study):
    """The widths of the network's layers."""
    return SIZE["layers"].replace("-", "--")


def images(study):
    """The number of images in an epoch of the claims."""
    return num(SIZE["images"])


def weights(study):
    """The number of weights."""
    return num(model.weights(SIZE))


def work(study):
    """The FLOPs of an epoch."""
    epoch = cost({"rate": 1.0, "momentum": 0.8, **SIZE})
    return f"\\qty{{{epoch.flops / 1e9:.1f}}}{{GFLOP}}"


def earlier(study, name):
    """A time that the earlier study reported."""
    return latex.seconds(nearest("time of the earlier study", name, EARLIER), 2)


def earlier_gain(study):
    """What all of the earlier study's steps gained."""
    return ratios.times(round(claims.BEFORE / claims.AFTER))


def assumed(study, name):
    """A number that the model assumes."""
    return num(nearest("assumption", name, ASSUMED))


def second_cache(study):
    """The rate that the model assumes of a second cache."""
    return latex.rate(model.SECOND_CACHE, "bandwidth", 3)


def changed(study, line, source=None, **tuning):
    """The Selection of a base with some tunings changed."""
    return lines.changed(line, source, **tuning)


def floor(study, selection):
    """The least time of an epoch, as the model has it."""
    return latex.seconds(study.predicted(selection), 2)


def share_of_block(study, selection, block):
    """The share of a macro block of an epoch."""
    times = parts(study.rows(selection), study.phases(selection))
    if block not in times:
        raise NotMeasured
    return percent(times[block] / sum(times.values()), 2)


def slowdown_by_bounds(study):
    """What the flag for bounds checks costs each loop that has it."""
    pairs = {name: [select(name, "flags", flags=flags) for flags in ("bounds", "O2")] for name in lines.STEPS}
    known = {name: pair for name, pair in pairs.items() if all(len(study.find(one)) for one in pair)}
    return (
        latex.listed(f"{ratios.prose(study.ratio(*pair))} for {latex.code(name)}" for name, pair in known.items())
        or None
    )


def on_half(study, line):
    """A line on half of the most cores."""
    return select(line, "cores", threads=most_cores(study) // 2)


def most_cores(study):
    """The most threads of the machine with most of them."""
    return int(study.rows(select("tuned", "cores"))["threads"].iloc[0])


def efficiency_of_products(study):
    """The parallel efficiency of the best products on the most cores: what clock and neighbours leave of these."""
    count = most_cores(study)
    one, several = (rates.products(study.machine("widest"), SIZE["dtype"], threads) for threads in (1, count))
    if not (one and several):
        raise NotMeasured
    return percent(several / one / count, 2)


def error(study):
    """The error of an image from which on something is learnt."""
    return num(learning.ERROR)


def epochs_to_error(study):
    """The epochs until the error is as small."""
    known = [count for one in learning.TRAINED if (count := learning.epochs_of(study, one))]
    return num(known[0]) if known else None


def time_to_error(study, selection):
    """The time that they take."""
    count = learning.epochs_of(study, selection)
    return latex.seconds(count * middle(study.rows(selection)), 2) if count else None
