"""Two sides of the same cases: two machines, or two campaigns of one machine, which may be of different commits."""

import itertools
from dataclasses import dataclass, field

from ladder.site.compact import number
from ladder.statistics import quotients, verdicts
from ladder.store import PUBLISHED_SUFFIX
from ladder.store.study import CASE

COLUMNS = ("a", "b", "case", "ratio", "low", "high", "verdict")


@dataclass(frozen=True)
class Side:
    """The measurements on a machine: all of them, or those of one `campaign`.

    `times` are {(workload, variant, case): (index of the row, median of each process)}.
    """

    machine: str
    campaign: str = ""
    commit: str = ""
    times: dict = field(default_factory=dict, compare=False)

    @property
    def name(self):
        """The name by which a reader picks the side; with the commit, since campaigns may begin in the same second."""
        campaign = self.campaign.removeprefix(f"{self.machine.removesuffix(PUBLISHED_SUFFIX)}_")
        return f"{self.machine}, campaign {campaign}, commit {self.commit[:7]}" if campaign else self.machine


def sides(cases):
    """All sides of some rows of `cases.rows`: the machines, and those campaigns of which a machine has several."""
    by_machine, by_campaign = {}, {}
    for position, row in enumerate(cases):
        key, machine = tuple(row[name] for name in CASE), row["machine"]
        medians = quotients.process_medians([samples for *_, samples in row["processes"]])
        by_machine.setdefault(machine, Side(machine)).times.setdefault(key, (position, medians))
        samples_by_campaign = {}
        for campaign, commit, _, samples in row["processes"]:
            samples_by_campaign.setdefault((campaign, commit), []).append(samples)
        for (campaign, commit), processes in samples_by_campaign.items():
            if campaign:
                side = by_campaign.setdefault((machine, campaign), Side(machine, campaign, commit))
                side.times.setdefault(key, (position, quotients.process_medians(processes)))
    return [*by_machine.values(), *(by_campaign[key] for key in sorted(by_campaign))]


def pairs(all_sides):
    """[{COLUMNS}], a row for each case that two comparable sides have both measured, with the ratio of their times.

    `a` and `b` are the indices of the sides, and `case` that of side a's row. The 99 % interval takes processes as
    independent.
    """
    rows = []
    for (a, first), (b, second) in itertools.combinations(enumerate(all_sides), 2):
        if are_comparable(first, second):
            for key in first.times.keys() & second.times.keys():
                rows.append({"a": a, "b": b} | compare(first.times[key], second.times[key]))
    return sorted(rows, key=lambda row: (row["a"], row["b"], row["case"]))


def are_comparable(first, second):
    """Whether two sides are of one kind: two machines, or two campaigns of the same machine."""
    if first.campaign and second.campaign:
        return first.machine == second.machine
    return not (first.campaign or second.campaign)


def compare(first, second):
    """The comparison of a case of two sides, as in COLUMNS; low and high are None with too few processes."""
    (position, first_times), (_, second_times) = first, second
    ratio = quotients.quotient_of_medians(first_times, second_times)
    return {
        "case": position,
        "ratio": number(ratio.value),
        "low": number(ratio.low) or None,
        "high": number(ratio.high),
        "verdict": verdicts.outcome_of(ratio.low, ratio.high),
    }
