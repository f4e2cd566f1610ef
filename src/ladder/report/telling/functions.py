"""The functions that a chapter's text may call: values in LaTeX about a selection, a line's key or a `select(...)`.

Texts call the functions of this module and of the chapter's own `text.py`, and use the constants of the latter. They
can also use the chapter's modules of data and what `text.py` imports, as in `model.GRAPH_NODE`. They call functions
without the argument `study`, the ChapterStudy. A function without a measurement returns None or raises NotMeasured.
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
from ladder.store import PUBLISHED_SUFFIX, rates
from ladder.store import study as queries

bandwidth = partial(latex.rate, kind="bandwidth", digit_count=2)
# Names that need no study: selections, and formats of numbers that aren't measured.
SHARED = {name: getattr(latex, name) for name in ("num", "number", "digits", "seconds")}
SHARED |= {"bandwidth": bandwidth, "factor": ratios.short, "select": select}
SHARED |= {"MAX": MAX, "SEVERAL": SEVERAL, "SECOND_LARGEST": SECOND_LARGEST}


def time(study, selection, digits=2):
    """The median time."""
    return seconds(median(study, selection), digits)


def median(study, selection):
    """The seconds of the median time, as a number for calculations."""
    return queries.median_time(study.rows(selection))


def predicted_time(study, selection):
    """The time that the model predicts."""
    return seconds(study.predicted_seconds(selection), 2)


def rate(study, selection, work="bytes"):
    """Work per second: B/s, or with "flops" FLOP/s."""
    rows = study.rows(selection)
    return latex.rate(rows[work].iloc[0] / queries.median_time(rows), {"bytes": "bandwidth"}.get(work, work), 2)


def share(study, selection):
    """The predicted over the measured time: the share of the rate that the model assumes."""
    return percent(1 / study.ratio(selection, lines.FLOOR).value, 2)


def parallelism(study, selection):
    """The number of threads, ranks or GPUs of a case, as in `8 threads` or `4 ranks of 8 threads`."""
    return lines.parallelism(study.rows(selection).iloc[0], sign=None)


def count(study, selection, column):
    """The number of threads or ranks of a case, by column; raises NotMeasured if it is 1."""
    number = int(study.rows(selection)[column].iloc[0])
    return latex.num(require_measured(number if number > 1 else None))


def largest(study, source, column):
    """The maximum of a column of a source."""
    return require_measured(max(queries.values(study.frame(source), column), default=None))


def size(study, source, *columns):
    """The size of a source's problem: a number, a power, or a product."""
    conditions = look_up("source", source, study.sources).conditions
    sizes = [latex.num(look_up(f"condition of the source {source!r} named", name, conditions)) for name in columns]
    if len(sizes) == 1:
        return sizes[0]
    product = f"{sizes[0]}^{len(sizes)}" if len({*sizes}) == 1 else r" \times ".join(sizes)
    return f"${product}$"


def ratio_of_verdicts(study, slower, faster):
    """The time of a selection over that of another, on the machine on which verdicts about them rest."""
    campaign_study = evidence.of_campaigns(study)
    sides = [side for side in (slower, faster) if side != lines.FLOOR]
    if all(label(study.machine_of(side)) != label(campaign_study.machine_of(side)) for side in sides):
        try:
            return campaign_study.ratio(slower, faster)
        except NotMeasured:
            pass  # no claim is about these cases
    return study.ratio(slower, faster)


def speedup(study, slower, faster):
    """The time of a selection over that of another: 3.0 ×, with its interval if that is wide."""
    return ratios.prose(ratio_of_verdicts(study, slower, faster))


def comparison(study, slower, faster, name):
    """A predicate about `faster`: is 3.0 × faster than `name`, is as fast as it, does not differ significantly ..."""
    return ratios.comparison(ratio_of_verdicts(study, slower, faster), render_code(name))


def efficiency(study, selection, column):
    """The parallel efficiency over one thread or rank, in per cent; raises NotMeasured for a single one."""
    selection = as_selection(selection)
    number = int(study.rows(selection)[column].iloc[0])
    speedup = study.ratio(selection.with_tuning(**{column: 1}), selection)
    return ratios.efficiency(require_measured(speedup if number > 1 else None), number)


def preparation(study, selection):
    """The median time of the preparation before the first call."""
    return seconds(require_measured(queries.median_time(study.phases(selection, outside=True))), 2)


def phases_over_call(study, selection):
    """The sum of all phases as a multiple of the call; raises NotMeasured if they add up to it, or weren't timed."""
    rows, phases = study.rows(selection), require_measured(study.phases(selection))
    if chapter_study.phase_times_of_call(rows, phases):
        raise NotMeasured
    return ratios.short(chapter_study.phases_over_call(rows, phases))


def break_even(study, prepared, other, name, calls="calls"):
    """A predicate with the number of calls after which a selection's preparation pays off against another selection."""
    name = name.replace("{", "{{").replace("}", "}}")  # the words are completed by `format`
    return amortisation.answer_text(
        amortisation.calls_to_break_even(study, prepared, other),
        f"pays off, compared with {name}, after {{}} {calls}",
        f"pays off, compared with {name}, with the first of the {calls}",
        f"never pays off, compared with {name}",
        f"has no significant break-even point, compared with {name}",
    )


def memory_rate(study, role, threads=None):
    """The bandwidth of the memory of a role's machine on `threads`, or of its GPU's memory without a number."""
    machine = study.machine(role)
    rate = rates.bandwidths(machine).get(threads) if threads else rates.gpu_bandwidth(machine)
    return bandwidth(require_measured(rate))


def reading_rate(study, role, threads):
    """The median bandwidth of the stream that only reads, on `threads`."""
    rows = require_measured(study.machine(role).samples(rates.BANDWIDTH_EXPERIMENT, kernel="read", threads=threads))
    return bandwidth(rows["bytes"].iloc[0] / queries.median_time(rows))


def link_rate(study, role):
    """The bandwidth of copies to a GPU."""
    return bandwidth(require_measured(rates.link(study.machine(role))))


def bandwidth_threads(study, role):
    """The largest number of threads with a measured bandwidth."""
    rows = study.machine(role).samples(rates.BANDWIDTH_EXPERIMENT)
    return require_measured(max(queries.values(rows, "threads"), default=None))


def product_rate(study, role, precision):
    """FLOP/s of the best product of a precision on a machine's GPU."""
    return latex.rate(require_measured(rates.products(study.machine(role), precision, device="cuda")), "flops")


def energy(study, selection):
    """The median energy of a call."""
    return latex.joules(require_measured(queries.energy(study.rows(selection))), 2)


def machine(study, role):
    """The name of the machine of a role."""
    return code(require_measured(study.machine(role).machine_name))


def other_machine(study, role, other_role):
    """The name of the machine of a role; raises NotMeasured if another role has the same machine."""
    if study.machine(role).machine_name == study.machine(other_role).machine_name:
        raise NotMeasured
    return machine(study, role)


def verdict_machine(study, role):
    """The name of the machine on which verdicts about a role rest; raises NotMeasured if that is the role's own."""
    machine = evidence.of_campaigns(study).machines[role]
    if label(machine) == label(study.machines[role]):
        raise NotMeasured
    return code(require_measured(machine.machine_name))


def label(machine):
    """The label of a machine, whether published or of this build; None without one."""
    return machine.machine_name and machine.machine_name.removesuffix(PUBLISHED_SUFFIX)


def gpu(study, role, key="name"):
    """A property of the first GPU of a role's machine: its name, or its driver."""
    gpus = require_measured(study.machine(role).description.get("gpus"))
    return latex.escape(require_measured(gpus[0].get(key)))


def claim(study, key):
    """A claim with its answer, by its key."""
    groups = chapter_claims.verdicts(study)
    return look_up("claim", key, {claim.key: claim for group in groups.values() for claim in group})


def claimed_ratio(study, key):
    """The measured ratio that a claim is about."""
    return ratios.prose(require_measured(claim(study, key).answer.ratio))


def verdict(study, key):
    """The verdict on a claim."""
    return claim(study, key).answer.verdict


def tally(study, group):
    """The numbers of a group's claims by verdict, in words."""
    return require_measured(verdict_table.tally(look_up("group of claims", group, chapter_claims.verdicts(study))))


def template_names(study):
    """The names that a chapter's text may use, {name: function, constant or namespace}."""
    modules = {name: chapter_study.chapter_module(study.workload, name) for name in chapters.DATA_MODULES}
    text = modules.pop("text")
    if text:
        modules |= inspect.getmembers(text, lambda value: getattr(value, "__package__", "") == text.__package__)
    values = SHARED | {name: module and SimpleNamespace(**bind(study, module)) for name, module in modules.items()}
    for module in filter(None, (inspect.getmodule(template_names), text)):
        local = {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
        values |= {name: value for name, value in bind(study, module).items() if name in local or name.isupper()}
    return values


def bind(study, module):
    """The members of a module, with the study as the first argument of functions that have one of this name."""
    return {
        name: partial(value, study)
        if inspect.isfunction(value) and "study" in inspect.signature(value).parameters
        else value
        for name, value in vars(module).items()
    }
