"""Verdicts of stored samples as text for a terminal and as JSON."""

from ladder.errors import pluralize
from ladder.harness.comparison import answer, detected
from ladder.quantities import seconds
from ladder.report import ratios
from ladder.report.ranking_text import entry_document, interval
from ladder.report.terminal import seconds_with_interval
from ladder.statistics.campaigns import REPLICATED
from ladder.store import study
from ladder.terminal import wrapped

NO_CAMPAIGN = "outside of campaigns"


def lines(verdicts, machines):
    """Yield the lines about all verdicts, then those about a case on several machines."""
    for each in verdicts:
        yield f"On {each.machine}:"
        for name, entry in (("A", each.a), ("B", each.b)):
            best = f", the best of {entry.tunings} tunings" if entry.tunings > 1 else ""
            yield f"{name}  {seconds_with_interval(entry.seconds)}  {entry.case.key}{best}"
        for sentence in conclusion(each):
            yield from wrapped(sentence)
        yield ""
    for entries in machines:
        yield from wrapped(across(entries))


def conclusion(each):
    """Yield the sentences of a verdict, or why there is none."""
    value, ends = ratios.distinct_texts(each.ratio, ratios.decimals_of(each.ratio.value) + 1)
    if each.verdict is None:
        places = where(each.a), where(each.b)
        measured = (
            f"both were measured {places[0]}" if len({*places}) == 1 else f"A was measured {places[0]}, B {places[1]}"
        )
        yield (
            f"No verdict: {measured}, and a ratio is taken only within a campaign. The median of A is {value} times "
            "that of B, which only indicates an order."
        )
        return
    between = f", 99 % interval {ends[0]} to {ends[1]}" if ends else ""
    yield (
        f"{answer(each.verdict)}: A takes {value} times as long as B{between} "
        f"({pluralize(len(each.campaigns), 'campaign')}: {', '.join(each.campaigns)})."
    )
    if each.verdict.detectable < ratios.FAR:
        yield detected(each.verdict.detectable)
    if len(each.campaigns) < REPLICATED:
        yield f"With fewer than {REPLICATED} campaigns, the interval holds only for the hosts and GPUs that measured."


def across(entries):
    """The sentence about a case on several machines."""
    case = next(iter(entries.values())).case
    medians = ", ".join(f"{seconds(entry.seconds.value)} on {machine}" for machine, entry in entries.items())
    return (
        "No verdict between machines: they were measured in different campaigns, and a ratio is taken only within one. "
        f"{case.workload}/{case.variant} takes {medians}."
    )


def where(entry):
    """Where an entry was measured: in its campaigns, or outside of any."""
    names = [name for name in study.by_campaign(entry.rows) if name]
    return f"in {', '.join(names)}" if names else NO_CAMPAIGN


def document(verdicts, machines):
    """Verdicts and cases on several machines as JSON; what isn't known is null."""
    return {
        "results": [verdict_document(each) for each in verdicts],
        "across_machines": [
            {machine: entry_document(entry) for machine, entry in entries.items()} for entries in machines
        ],
    }


def verdict_document(each):
    """A verdict as JSON."""
    verdict = each.verdict
    is_detectable = verdict and verdict.detectable < ratios.FAR
    return {
        "machine": each.machine,
        "a": entry_document(each.a),
        "b": entry_document(each.b),
        "outcome": verdict and verdict.outcome,
        "within": verdict and verdict.within,
        "ratio": interval(each.ratio),
        "detectable": verdict.detectable if is_detectable else None,
        "campaigns": list(each.campaigns),
    }
