"""What a chapter's text may ask for: values in LaTeX, of lines by their keys or of a `select(...)`.

A public function of the chapter's own `text.py` is there too, without its first argument, the study.
"""

import functools
import inspect
from dataclasses import replace

from ladder.report import latex, rates, ratios, study, verdict_table
from ladder.report.latex import code, percent, seconds
from ladder.report.telling import amortisation, chapter_study, lines
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured, nearest, selection_of
from ladder.report.telling.claims import coded
from ladder.report.telling.lines import MAX, SEVERAL, select


def time(chapter, selection):
    """The median time."""
    return seconds(study.middle(chapter.rows(selection)), 2)


def rate(chapter, selection, work="bytes"):
    """Work a second: B/s, or with "flops" FLOP/s."""
    rows = chapter.rows(selection)
    return latex.rate(rows[work].iloc[0] / study.middle(rows), {"bytes": "bandwidth"}.get(work, work), 2)


def share(chapter, selection):
    """The time that the model predicts over the time: the share of the rate that it goes by."""
    return percent(chapter.predicted(selection) / study.middle(chapter.rows(selection)), 2)


def place(chapter, selection):
    """Where a case runs: 8 threads."""
    return lines.place(chapter.rows(selection).iloc[0]).replace("×", r"$\times$")


def count(chapter, selection, column):
    """The number of threads or ranks of a case; NotMeasured where it is one."""
    number = int(chapter.rows(selection)[column].iloc[0])
    if number == 1:
        raise NotMeasured
    return latex.num(number)


def speedup(chapter, slower, faster):
    """The time of one over that of another: 3.0 x, with its interval where that is wide."""
    return ratios.prose(ratio(chapter, slower, faster))


def comparison(chapter, slower, faster, name):
    """The predicate of a sentence about the second: is 3.0 x faster than `name`, by the outcome of `verdicts`."""
    return ratios.compared(ratio(chapter, slower, faster), coded(name))


def ratio(chapter, slower, faster):
    """The ratio of two selections; NotMeasured where one is missing."""
    return chapter.ratio(slower, faster)


def scaling(chapter, selection, column):
    """The speed-up of a selection over the same on one thread or rank, as a Ratio, and the number of these."""
    selection = selection_of(selection)
    one = replace(selection, tuning=selection.tuning | {column: 1})
    rows = chapter.rows(selection)
    number = int(rows[column].iloc[0])
    if number == 1:
        raise NotMeasured
    return ratio(chapter, one, selection), number


def scaled_speedup(chapter, selection, column):
    """The speed-up over one thread or rank."""
    return ratios.prose(scaling(chapter, selection, column)[0])


def efficiency(chapter, selection, column):
    """The parallel efficiency over one thread or rank, in per cent."""
    return ratios.efficiency(*scaling(chapter, selection, column))


def phase(chapter, selection, name):
    """The median time of a phase of every call."""
    return timed(study.where(chapter.phases(selection), phase=name))


def once(chapter, selection):
    """The median time of what was done once, before the first call."""
    return timed(chapter.phases_before(selection))


def timed(rows):
    """The median time of some rows; NotMeasured without any."""
    if rows.empty:
        raise NotMeasured
    return seconds(study.middle(rows), 2)


def beyond(chapter, selection):
    """How many times the call all phases take; NotMeasured where they add up to it, or weren't timed."""
    rows, phases = chapter.rows(selection), chapter.phases(selection)
    if phases.empty or chapter_study.parts(rows, phases):
        raise NotMeasured
    return ratios.times(latex.digits(chapter_study.whole(rows, phases), 2))


def break_even(chapter, kept, other, name, calls="calls"):
    """After how many calls what was done once has paid against another selection, as the predicate of a sentence."""
    return amortisation.predicate(amortisation.of_selections(chapter, kept, other), name, calls)


def memory_rate(chapter, role, threads=None):
    """The bandwidth of a machine's memory on so many threads, or of its GPU's without a number."""
    found = chapter.machine(role)
    return of_bytes(rates.bandwidths(found).get(threads) if threads else rates.card_bandwidth(found))


def reading_rate(chapter, role, threads):
    """The median rate of reading alone on so many threads."""
    rows = chapter.machine(role).samples(rates.STREAMS, kernel="read", threads=threads)
    return of_bytes(rows["bytes"].iloc[0] / study.middle(rows) if len(rows) else None)


def link_rate(chapter, role):
    """The rate of copies to a GPU."""
    return of_bytes(rates.link(chapter.machine(role)))


def of_bytes(value):
    """A rate in B/s; NotMeasured without one."""
    if not value:
        raise NotMeasured
    return latex.rate(value, "bandwidth", 2)


def memory_threads(chapter, role):
    """The most threads of which the bandwidth is known."""
    number = max(study.values(chapter.machine(role).samples(rates.STREAMS), "threads"), default=None)
    if not number:
        raise NotMeasured
    return number


def energy(chapter, selection):
    """The median energy of a call."""
    joules = study.energy(chapter.rows(selection))
    if joules is None:
        raise NotMeasured
    return latex.joules(joules, 2)


def machine(chapter, role):
    """The name of the machine of a role."""
    subject = chapter.machine(role).subject
    if not subject:
        raise NotMeasured
    return code(subject)


def other_machine(chapter, role, than):
    """The same where it isn't that of another role; else NotMeasured."""
    if chapter.machine(role).subject == chapter.machine(than).subject:
        raise NotMeasured
    return machine(chapter, role)


def gpu(chapter, role):
    """The model of the GPUs of a role's machine."""
    one = chapter.machine(role)
    names = [about["name"] for about in one.descriptions.get(one.subject, {}).get("gpus", ())]
    if not names:
        raise NotMeasured
    return latex.escape(names[0])


def claim(chapter, key):
    """A claim with its answer, by its key."""
    groups = chapter_claims.verdicts(chapter)
    return nearest("claim", key, {one.key: one for group in groups.values() for one in group})


def claimed_ratio(chapter, key):
    """The ratio that a claim is about, as measured."""
    found = claim(chapter, key).answer.ratio
    if found is None:
        raise NotMeasured
    return ratios.prose(found)


def verdict(chapter, key):
    """The verdict on a claim."""
    return claim(chapter, key).answer.verdict


def tally(chapter, group):
    """How many claims of a group have which verdict."""
    found = verdict_table.tally(nearest("group of claims", group, chapter_claims.verdicts(chapter)))
    if found is None:
        raise NotMeasured
    return found


def of_chapter(chapter):
    """The functions of a chapter's text, {name: function}: these, and those of its `text.py`."""
    every = (time, rate, share, place, count, speedup, comparison, scaled_speedup, efficiency, energy)
    every += (phase, once, beyond, break_even, memory_rate, reading_rate, link_rate, memory_threads)
    every += (machine, other_machine, gpu, claimed_ratio, verdict, tally)
    own = chapter_study.module(chapter.workload, "text")
    more = inspect.getmembers(own, lambda one: inspect.isfunction(one) and one.__module__ == own.__name__)
    found = {one.__name__: one for one in every} | dict(more)
    bound = {name: functools.partial(one, chapter) for name, one in found.items()}
    return bound | {"num": latex.num, "select": select, "MAX": MAX, "SEVERAL": SEVERAL}
