"""Verdicts of stored samples as text for a terminal and as JSON."""

from ladder.errors import pluralize
from ladder.harness.comparison import detectable_sentence, verdict_clause
from ladder.quantities import seconds
from ladder.report import ratios
from ladder.report.ranking_text import entry_document, interval
from ladder.report.terminal import seconds_with_interval
from ladder.statistics.campaigns import MIN_CAMPAIGNS
from ladder.store import study
from ladder.terminal import wrap

NO_CAMPAIGN = "outside of campaigns"


def lines(stored_verdicts, across_machines):
    """Yield the lines about all verdicts, then those about cases on several machines, [{machine: entry}]."""
    for stored_verdict in stored_verdicts:
        yield f"On {stored_verdict.machine}:"
        for name, entry in (("A", stored_verdict.a), ("B", stored_verdict.b)):
            best = f", the best of {entry.tuning_count} tunings" if entry.tuning_count > 1 else ""
            yield f"{name}  {seconds_with_interval(entry.seconds)}  {entry.case.key}{best}"
        for sentence in conclusion(stored_verdict):
            yield from wrap(sentence)
        yield ""
    for entries in across_machines:
        yield from wrap(machines_sentence(entries))


def conclusion(stored_verdict):
    """Yield the sentences of a verdict, or why there is none."""
    value, ends = ratios.distinct_texts(stored_verdict.ratio, ratios.decimals_of(stored_verdict.ratio.value) + 1)
    if stored_verdict.verdict is None:
        places = campaigns_text(stored_verdict.a), campaigns_text(stored_verdict.b)
        measured = (
            f"both were measured {places[0]}" if len({*places}) == 1 else f"A was measured {places[0]}, B {places[1]}"
        )
        yield (
            f"No verdict: {measured}, and a ratio is taken only within a campaign. The median of A is {value} times "
            "that of B, which supports no verdict."
        )
        return
    interval_words = f", 99 % interval {ends[0]} to {ends[1]}" if ends else ""
    yield (
        f"{verdict_clause(stored_verdict.verdict)}: A takes {value} times as long as B{interval_words} "
        f"({pluralize(len(stored_verdict.campaigns), 'campaign')}: {', '.join(stored_verdict.campaigns)})."
    )
    if stored_verdict.verdict.detectable < ratios.MAX_PRINTED_CHANGE:
        yield detectable_sentence(stored_verdict.verdict.detectable)
    if len(stored_verdict.campaigns) < MIN_CAMPAIGNS:
        yield (
            f"With fewer than {MIN_CAMPAIGNS} campaigns, the interval holds only for the hosts and GPUs that measured."
        )


def machines_sentence(entries):
    """The sentence about a case on several machines."""
    case = next(iter(entries.values())).case
    medians = ", ".join(f"{seconds(entry.seconds.value)} on {machine}" for machine, entry in entries.items())
    return (
        "No verdict between machines: they were measured in different campaigns, and a ratio is taken only within one. "
        f"{case.workload}/{case.variant} takes {medians}."
    )


def campaigns_text(entry):
    """Where an entry was measured: in its campaigns, or outside of any."""
    names = [name for name in study.by_campaign(entry.rows) if name]
    return f"in {', '.join(names)}" if names else NO_CAMPAIGN


def document(stored_verdicts, across_machines):
    """Verdicts and cases on several machines as JSON; what isn't known is null."""
    return {
        "results": [verdict_document(stored_verdict) for stored_verdict in stored_verdicts],
        "across_machines": [
            {machine: entry_document(entry) for machine, entry in entries.items()} for entries in across_machines
        ],
    }


def verdict_document(stored_verdict):
    """A verdict as JSON."""
    verdict = stored_verdict.verdict
    is_detectable = verdict and verdict.detectable < ratios.MAX_PRINTED_CHANGE
    return {
        "machine": stored_verdict.machine,
        "a": entry_document(stored_verdict.a),
        "b": entry_document(stored_verdict.b),
        "outcome": verdict and verdict.outcome,
        "within": verdict and verdict.equal_percent,
        "ratio": interval(stored_verdict.ratio),
        "detectable": verdict.detectable if is_detectable else None,
        "campaigns": list(stored_verdict.campaigns),
    }
