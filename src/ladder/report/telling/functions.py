"""The functions that a chapter's text may call: values in LaTeX about a selection, a line's key or a `select(...)`.

Texts call the functions of this module and of the chapter's own `text.py`, and use the constants of the latter. They
can also use the chapter's modules of data and what `text.py` imports, as in `model.GRAPH_NODE`. They call functions
without their first argument, the ChapterStudy. A function without a measurement returns None or raises NotMeasured.
"""

import inspect
from functools import partial
from types import SimpleNamespace

from ladder.report import chapters, evidence, latex, ratios, verdict_table
from ladder.report.latex import code, percent, seconds
from ladder.report.telling import amortisation, chapter_study, lines
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured, as_selection, look_up, require_measured
from ladder.report.telling.claims import render_code
from ladder.report.telling.lines import MAX, SECOND_LARGEST, SEVERAL, select
from ladder.store import PUBLISHED_SUFFIX, rates, study

CHAPTER_ARGUMENTS = {"study", "chapter"}  # names of the argument without which texts call functions
bandwidth = partial(latex.rate, kind="bandwidth", digit_count=2)
# Names that need no study: selections, and formats of numbers that aren't measured.
SHARED = {name: getattr(latex, name) for name in ("num", "number", "digits", "seconds")}
SHARED |= {"bandwidth": bandwidth, "factor": ratios.short, "select": select}
SHARED |= {"MAX": MAX, "SEVERAL": SEVERAL, "SECOND_LARGEST": SECOND_LARGEST}


def time(chapter, selection, digits=2):
    """The median time."""
    return seconds(median(chapter, selection), digits)


def median(chapter, selection):
    """The seconds of the median time, as a number for calculations."""
    return study.median_time(chapter.rows(selection))


def predicted_time(chapter, selection):
    """The time that the model predicts."""
    return seconds(chapter.predicted_seconds(selection), 2)


def rate(chapter, selection, work="bytes"):
    """Work per second: B/s, or with "flops" FLOP/s."""
    rows = chapter.rows(selection)
    return latex.rate(rows[work].iloc[0] / study.median_time(rows), {"bytes": "bandwidth"}.get(work, work), 2)


def share(chapter, selection):
    """The predicted over the measured time: the share of the rate that the model assumes."""
    return percent(1 / chapter.ratio(selection, lines.FLOOR).value, 2)


def parallelism(chapter, selection):
    """The number of threads, ranks or GPUs of a case, as in `8 threads` or `4 ranks of 8 threads`."""
    return lines.parallelism(chapter.rows(selection).iloc[0], sign=None)


def count(chapter, selection, column):
    """The number of threads or ranks of a case, by column; raises NotMeasured if it is 1."""
    number = int(chapter.rows(selection)[column].iloc[0])
    return latex.num(require_measured(number if number > 1 else None))


def largest(chapter, source, column):
    """The maximum of a column of a source."""
    return require_measured(max(study.values(chapter.frame(source), column), default=None))


def size(chapter, source, *columns):
    """The size of a source's problem: a number, a power, or a product."""
    conditions = look_up("source", source, chapter.sources).conditions
    sizes = [latex.num(look_up(f"condition of the source {source!r} named", name, conditions)) for name in columns]
    if len(sizes) == 1:
        return sizes[0]
    product = f"{sizes[0]}^{len(sizes)}" if len({*sizes}) == 1 else r" \times ".join(sizes)
    return f"${product}$"


def ratio_of_verdicts(chapter, slower, faster):
    """The time of a selection over that of another, on the machine on which verdicts about them rest."""
    campaign_study = evidence.of_campaigns(chapter)
    sides = [side for side in (slower, faster) if side != lines.FLOOR]
    if all(label(chapter.machine_of(side)) != label(campaign_study.machine_of(side)) for side in sides):
        try:
            return campaign_study.ratio(slower, faster)
        except NotMeasured:
            pass  # no claim is about these cases
    return chapter.ratio(slower, faster)


def speedup(chapter, slower, faster):
    """The time of a selection over that of another: 3.0 ×, with its interval if that is wide."""
    return ratios.prose(ratio_of_verdicts(chapter, slower, faster))


def comparison(chapter, slower, faster, name):
    """A predicate about `faster`: is 3.0 × faster than `name`, is as fast as it, does not differ significantly ..."""
    return ratios.comparison(ratio_of_verdicts(chapter, slower, faster), render_code(name))


def efficiency(chapter, selection, column):
    """The parallel efficiency over one thread or rank, in per cent; raises NotMeasured for a single one."""
    selection = as_selection(selection)
    number = int(chapter.rows(selection)[column].iloc[0])
    speedup = chapter.ratio(selection.with_tuning(**{column: 1}), selection)
    return ratios.efficiency(require_measured(speedup if number > 1 else None), number)


def preparation(chapter, selection):
    """The median time of the preparation before the first call."""
    return seconds(require_measured(study.median_time(chapter.phases(selection, outside=True))), 2)


def phases_over_call(chapter, selection):
    """The sum of all phases as a multiple of the call; raises NotMeasured if they add up to it, or weren't timed."""
    rows, phases = chapter.rows(selection), require_measured(chapter.phases(selection))
    if chapter_study.phase_times_of_call(rows, phases):
        raise NotMeasured
    return ratios.short(chapter_study.phases_over_call(rows, phases))


def break_even(chapter, prepared, other, name, calls="calls"):
    """A predicate with the number of calls after which a selection's preparation pays off against another selection."""
    name = name.replace("{", "{{").replace("}", "}}")  # the words are completed by `format`
    return amortisation.answer_text(
        amortisation.calls_to_break_even(chapter, prepared, other),
        f"pays off, compared with {name}, after {{}} {calls}",
        f"pays off, compared with {name}, with the first of the {calls}",
        f"never pays off, compared with {name}",
        f"has no significant break-even point, compared with {name}",
    )


def memory_rate(chapter, role, threads=None):
    """The bandwidth of the memory of a role's machine on `threads`, or of its GPU's memory without a number."""
    machine = chapter.machine(role)
    rate = rates.bandwidths(machine).get(threads) if threads else rates.gpu_bandwidth(machine)
    return bandwidth(require_measured(rate))


def reading_rate(chapter, role, threads):
    """The median bandwidth of the stream that only reads, on `threads`."""
    rows = require_measured(chapter.machine(role).samples(rates.BANDWIDTH_EXPERIMENT, kernel="read", threads=threads))
    return bandwidth(rows["bytes"].iloc[0] / study.median_time(rows))


def link_rate(chapter, role):
    """The bandwidth of copies to a GPU."""
    return bandwidth(require_measured(rates.link(chapter.machine(role))))


def bandwidth_threads(chapter, role):
    """The largest number of threads with a measured bandwidth."""
    rows = chapter.machine(role).samples(rates.BANDWIDTH_EXPERIMENT)
    return require_measured(max(study.values(rows, "threads"), default=None))


def product_rate(chapter, role, precision):
    """FLOP/s of the best product of a precision on a machine's GPU."""
    return latex.rate(require_measured(rates.products(chapter.machine(role), precision, device="cuda")), "flops")


def energy(chapter, selection):
    """The median energy of a call."""
    return latex.joules(require_measured(study.energy(chapter.rows(selection))), 2)


def machine(chapter, role):
    """The name of the machine of a role."""
    return code(require_measured(chapter.machine(role).subject))


def other_machine(chapter, role, other_role):
    """The name of the machine of a role; raises NotMeasured if another role has the same machine."""
    if chapter.machine(role).subject == chapter.machine(other_role).subject:
        raise NotMeasured
    return machine(chapter, role)


def verdict_machine(chapter, role):
    """The name of the machine on which verdicts about a role rest; raises NotMeasured if that is the role's own."""
    machine = evidence.of_campaigns(chapter).machines[role]
    if label(machine) == label(chapter.machines[role]):
        raise NotMeasured
    return code(require_measured(machine.subject))


def label(machine):
    """The label of a machine, whether published or of this build; None without one."""
    return machine.subject and machine.subject.removesuffix(PUBLISHED_SUFFIX)


def gpu(chapter, role, key="name"):
    """A property of the first GPU of a role's machine: its name, or its driver."""
    gpus = require_measured(chapter.machine(role).description.get("gpus"))
    return latex.escape(require_measured(gpus[0].get(key)))


def claim(chapter, key):
    """A claim with its answer, by its key."""
    groups = chapter_claims.verdicts(chapter)
    return look_up("claim", key, {claim.key: claim for group in groups.values() for claim in group})


def claimed_ratio(chapter, key):
    """The measured ratio that a claim is about."""
    return ratios.prose(require_measured(claim(chapter, key).answer.ratio))


def verdict(chapter, key):
    """The verdict on a claim."""
    return claim(chapter, key).answer.verdict


def tally(chapter, group):
    """The numbers of a group's claims by verdict, in words."""
    return require_measured(verdict_table.tally(look_up("group of claims", group, chapter_claims.verdicts(chapter))))


def template_names(chapter):
    """The names that a chapter's text may use, {name: function, constant or namespace}."""
    modules = {name: chapter_study.chapter_module(chapter.workload, name) for name in chapters.DATA_MODULES}
    text = modules.pop("text")
    if text:
        siblings = inspect.getmembers(text, lambda value: getattr(value, "__package__", "") == text.__package__)
        modules |= dict(siblings)
    values = SHARED | {name: module and SimpleNamespace(**bind(chapter, module)) for name, module in modules.items()}
    for module in filter(None, (inspect.getmodule(template_names), text)):
        local = {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
        values |= {name: value for name, value in bind(chapter, module).items() if name in local or name.isupper()}
    return values


def bind(chapter, module):
    """The members of a module, with the chapter as the first argument of functions that have one for the study."""
    return {
        name: partial(value, chapter)
        if inspect.isfunction(value) and CHAPTER_ARGUMENTS & {*inspect.signature(value).parameters}
        else value
        for name, value in vars(module).items()
    }
