"""Verdicts of stored samples on two cases, by the statistics of the paper.

A verdict rests on a ratio that was taken within campaigns which measured both cases. Without a common campaign there is
none, and so there is none between machines: only the medians are given.
"""

from dataclasses import dataclass, field, replace

from ladder.catalogue import workloads
from ladder.errors import LadderError, did_you_mean
from ladder.report import ranking, ratios
from ladder.statistics.quotients import Ratio
from ladder.statistics.verdicts import Verdict, outcome_of
from ladder.store import study
from ladder.store.results import parameter_names


@dataclass(frozen=True)
class Side:
    """What a side of a comparison may be: a variant with conditions {size, tuning or "cache": text}.

    `shared` are conditions of both sides. One on a tuning that the variant doesn't have is no condition for this side.
    """

    workload: str
    variant: str
    conditions: dict
    shared: dict = field(default_factory=dict)

    def conditions_among(self, parameter_names):
        """All conditions if the variant's cases have these names of sizes and tunings; its own take precedence."""
        return {name: text for name, text in self.shared.items() if name in parameter_names} | self.conditions

    def __str__(self):
        conditions = ",".join(f"{name}={value}" for name, value in (self.shared | self.conditions).items())
        return f"{self.workload}/{self.variant}" + f"/{conditions}" * bool(conditions)


@dataclass(frozen=True)
class StoredVerdict:
    """The comparison of two entries of rankings on one machine; `verdict` is None without a common campaign."""

    machine: str
    a: ranking.Entry
    b: ranking.Entry
    ratio: Ratio
    campaigns: tuple
    verdict: Verdict | None


def parse_side(text):
    """The side that a text names: workload/variant, or workload/variant/conditions. Raises LadderError."""
    workload, _, rest = text.partition("/")
    variant, _, conditions = rest.partition("/")
    pairs = [pair.partition("=")[::2] for pair in conditions.split(",") if pair]
    if not (workload and variant and all(name and value for name, value in pairs)):
        raise LadderError(
            f"{text!r} is neither workload/variant nor workload/variant/key=value,...: `ladder show WORKLOAD` lists "
            "what is stored."
        )
    return Side(workload, variant, dict(pairs))


def compare(results_by_machine, a, b, are_machines_selected):
    """([StoredVerdict], [{machine: Entry of a, ...}]) of two sides, from {machine: Results}.

    The second list has, for each set of sizes, the case of side a on several machines. It is empty unless the user
    selected the machines (`are_machines_selected`) and there are several, since their cases are compared by their
    medians alone. If a and b are the same side, there are no verdicts. Raises LadderError if nothing can be compared.
    """
    sides = {machine: (select(results, a), select(results, b)) for machine, results in results_by_machine.items()}
    for number, side in enumerate((a, b)):
        if not any(entries[number] for entries in sides.values()):
            raise LadderError(
                f"No results of {side} are stored on {' or '.join(results_by_machine)}: see `ladder show {a.workload}`."
                f"{variant_hint(results_by_machine, side)}"
            )
    is_same = a == b
    verdicts = (
        []
        if is_same
        else [verdict for machine, both in sides.items() for verdict in verdicts_on_machine(machine, *both)]
    )
    across = across_machines(sides) if are_machines_selected or is_same else []
    if not (verdicts or across):
        reason = "are the same case: name two machines" if is_same else "have no set of sizes in common on one machine"
        raise LadderError(f"{a} and {b} {reason}. `ladder show {a.workload}` lists what is stored.")
    return verdicts, across


def variant_hint(results_by_machine, side):
    """The variants with stored results that a side may mean; empty if there is a variant of its name."""
    measured = {variant for results in results_by_machine.values() for variant in results.calls["variant"].unique()}
    is_known = side.variant in measured.union(workloads.variants(side.workload))
    return "" if is_known else did_you_mean(side.variant, sorted(measured))


def select(results, side):
    """The best entry of a side for each set of sizes, {sizes as text: Entry}."""
    variant_results = replace(results, calls=results.calls[results.calls["variant"] == side.variant])
    rankings = ranking.rankings(variant_results, side.conditions_among(parameter_names([variant_results])))
    return {ranking.sizes_of(best.entries[0].case): best.entries[0] for best in rankings}


def verdicts_on_machine(machine, a, b):
    """The verdicts on the sides' entries: for all common sizes, or of a single entry of each."""
    if len(a) == len(b) == 1:
        return [verdict_on(machine, *a.values(), *b.values())]
    return [verdict_on(machine, a[sizes], b[sizes]) for sizes in a if sizes in b]


def verdict_on(machine, a, b):
    """The StoredVerdict on two entries. A best tuning is tested on other processes than it was chosen on."""
    is_chosen = a.tuning_count > 1 or b.tuning_count > 1
    times = [study.by_campaign(entry.test_rows if is_chosen else entry.rows) for entry in (a, b)]
    ratio = ratios.between(*times, study.cases(a.rows, b.rows))
    verdict = None
    if ratio.spread:
        verdict = Verdict(outcome_of(ratio.low, ratio.high), ratio.value, ratio.low, ratio.high, ratio.detectable())
    return StoredVerdict(machine, a, b, ratio, tuple(ratios.common_campaigns(*times)), verdict)


def across_machines(sides):
    """The entries of side a on several machines, [{machine: Entry}], one for each set of sizes that these share."""
    by_sizes = {}
    for machine, (a, _) in sides.items():
        for sizes, entry in a.items():
            by_sizes.setdefault(sizes, {})[machine] = entry
    return [entries for entries in by_sizes.values() if len(entries) > 1]
