"""What a chapter's text may ask for: values in LaTeX, of lines by their keys or of a `select(...)`.

Functions of this module and of the chapter's own `text.py` get the study as their first argument, which texts leave
out; the constants of `text.py` stand as they are, and so do the chapter's other modules of data, as in `model.LOADS`.
None, like NotMeasured, is a value without a measurement.
"""

import inspect
from dataclasses import replace
from functools import partial

from ladder.report import chapters, latex, ratios, verdict_table
from ladder.report.latex import code, percent, seconds
from ladder.report.telling import amortisation, chapter_study, lines
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured, nearest, required, selection_of
from ladder.report.telling.claims import coded
from ladder.report.telling.lines import MAX, SECOND, SEVERAL, select
from ladder.statistics.crossings import EVERYWHERE, NOWHERE
from ladder.statistics.verdicts import UNDECIDED
from ladder.store import rates, study

bandwidth = partial(latex.rate, kind="bandwidth", count=2)
# What isn't about a study: selections, and formats of numbers that no measurement gives.
SHARED = {name: getattr(latex, name) for name in ("num", "number", "digits", "seconds")}
SHARED |= {"bandwidth": bandwidth, "factor": ratios.short, "select": select}
SHARED |= {"MAX": MAX, "SEVERAL": SEVERAL, "SECOND": SECOND}


def time(chapter, selection, digits=2):
    """The median time."""
    return seconds(median(chapter, selection), digits)


def median(chapter, selection):
    """The seconds of the median time, to count with."""
    return study.middle(chapter.rows(selection))


def predicted_time(chapter, selection):
    """The time that the model predicts."""
    return seconds(chapter.predicted(selection), 2)


def rate(chapter, selection, work="bytes"):
    """Work per second: B/s, or with "flops" FLOP/s."""
    rows = chapter.rows(selection)
    return latex.rate(rows[work].iloc[0] / study.middle(rows), {"bytes": "bandwidth"}.get(work, work), 2)


def share(chapter, selection):
    """The predicted time over the time: the share of the rate that the model assumes."""
    return percent(chapter.predicted(selection) / study.middle(chapter.rows(selection)), 2)


def place(chapter, selection):
    """Where a case runs: 8 threads."""
    return lines.place(chapter.rows(selection).iloc[0], lines.LATEX_TIMES)


def count(chapter, selection, column):
    """The number of threads or ranks of a case; NotMeasured where it is one."""
    number = int(chapter.rows(selection)[column].iloc[0])
    return latex.num(required(number if number > 1 else None))


def largest(chapter, source, column):
    """The largest number in a column of a source."""
    return required(max(study.values(chapter.frame(source), column), default=None))


def size(chapter, source, *columns):
    """The size of a source's problem: a number, a power, or a product."""
    sizes = [str(nearest("source", source, chapter.sources).conditions[name]) for name in columns]
    if len(sizes) == 1:
        return latex.num(sizes[0])
    product = f"{sizes[0]}^{len(sizes)}" if len({*sizes}) == 1 else r" \times ".join(sizes)
    return f"${product}$"


def speedup(chapter, slower, faster):
    """The time of a selection over that of another: 3.0 ×, with its interval where that is wide."""
    return ratios.prose(chapter.ratio(slower, faster))


def comparison(chapter, slower, faster, name):
    """The predicate of a sentence about the second: is 3.0 × faster than `name`, by the outcome of `verdicts`."""
    return ratios.compared(chapter.ratio(slower, faster), coded(name))


def scaling(chapter, selection, column):
    """The speed-up of a selection over the same on one thread or rank, as a Ratio, and the number of these."""
    selection = selection_of(selection)
    number = int(chapter.rows(selection)[column].iloc[0])
    if number == 1:
        raise NotMeasured
    return chapter.ratio(replace(selection, tuning=selection.tuning | {column: 1}), selection), number


def scaled_speedup(chapter, selection, column):
    """The speed-up over one thread or rank."""
    return ratios.prose(scaling(chapter, selection, column)[0])


def efficiency(chapter, selection, column):
    """The parallel efficiency over one thread or rank, in per cent."""
    return ratios.efficiency(*scaling(chapter, selection, column))


def phase(chapter, selection, name):
    """The median time of a phase of every call."""
    return seconds(required(study.middle(study.where(chapter.phases(selection), phase=name))), 2)


def phase_share(chapter, selection, name):
    """The share of a phase in the call; NotMeasured where the phases don't add up to the call."""
    return percent(required(chapter.phase_shares(selection).get(name)), 2)


def preparation(chapter, selection):
    """The median time of what was done before the first call."""
    return seconds(required(study.middle(chapter.phases(selection, before=True))), 2)


def beyond(chapter, selection):
    """The sum of all phases as a multiple of the call; NotMeasured where they add up to it, or weren't timed."""
    rows, phases = chapter.rows(selection), required(chapter.phases(selection))
    if chapter_study.parts(rows, phases):
        raise NotMeasured
    return ratios.short(chapter_study.whole(rows, phases))


def break_even(chapter, kept, other, name, calls="calls"):
    """The number of calls after which work done before them pays against another selection, as a predicate."""
    answer = amortisation.calls_to_pay(chapter, kept, other)
    if isinstance(answer, tuple):
        return f"pays off against {name} after {amortisation.text(answer)} {calls}"
    return {
        None: None,
        EVERYWHERE: f"pays off against {name} with the first of the {calls}",
        NOWHERE: f"never pays off against {name}",
        UNDECIDED: f"has no significant break-even point against {name}",
    }[answer]


def memory_rate(chapter, role, threads=None):
    """The bandwidth of a machine's memory on so many threads, or of its GPU's without a number."""
    machine = chapter.machine(role)
    return bandwidth(required(rates.bandwidths(machine).get(threads) if threads else rates.gpu_bandwidth(machine)))


def reading_rate(chapter, role, threads):
    """The median rate of reading alone on so many threads."""
    rows = required(chapter.machine(role).samples(rates.STREAMS, kernel="read", threads=threads))
    return bandwidth(rows["bytes"].iloc[0] / study.middle(rows))


def link_rate(chapter, role):
    """The rate of copies to a GPU."""
    return bandwidth(required(rates.link(chapter.machine(role))))


def memory_threads(chapter, role):
    """The largest number of threads of which the bandwidth is known."""
    return required(max(study.values(chapter.machine(role).samples(rates.STREAMS), "threads"), default=None))


def product_rate(chapter, role, precision):
    """FLOP/s of the best product of a precision on a machine's GPU."""
    return latex.rate(required(rates.products(chapter.machine(role), precision, device="cuda")), "flops")


def energy(chapter, selection):
    """The median energy of a call."""
    return latex.joules(required(study.energy(chapter.rows(selection))), 2)


def machine(chapter, role):
    """The name of the machine of a role."""
    return code(required(chapter.machine(role).subject))


def other_machine(chapter, role, than):
    """The same where it isn't that of another role; else NotMeasured."""
    if chapter.machine(role).subject == chapter.machine(than).subject:
        raise NotMeasured
    return machine(chapter, role)


def gpu(chapter, role, about="name"):
    """The model, or the driver, of the GPUs of a role's machine."""
    subject = chapter.machine(role)
    gpus = required(subject.descriptions.get(subject.subject, {}).get("gpus"))
    return latex.escape(required(gpus[0].get(about)))


def claim(chapter, key):
    """A claim with its answer, by its key."""
    groups = chapter_claims.verdicts(chapter)
    return nearest("claim", key, {answered.key: answered for group in groups.values() for answered in group})


def claimed_ratio(chapter, key):
    """The ratio that a claim is about, as measured."""
    return ratios.prose(required(claim(chapter, key).answer.ratio))


def verdict(chapter, key):
    """The verdict on a claim."""
    return claim(chapter, key).answer.verdict


def tally(chapter, group):
    """The number of claims of a group by verdict."""
    return required(verdict_table.tally(nearest("group of claims", group, chapter_claims.verdicts(chapter))))


def of_chapter(chapter):
    """What the text of a chapter may ask for, {name: value}."""
    values = SHARED | {name: chapter_study.module(chapter.workload, name) for name in chapters.DATA}
    for module in filter(None, (inspect.getmodule(of_chapter), values.pop("text"))):
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                values[name] = partial(value, chapter)
            elif name.isupper():
                values[name] = value
    return values
