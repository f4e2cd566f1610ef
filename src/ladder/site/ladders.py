"""The ladders of all systems on all machines: each rung's time, and its speed-ups over the rung above and the first."""

import math
from dataclasses import dataclass, field

import pandas as pd

from ladder.report import chapter_code, chapters, ladder_table, overview, ratios
from ladder.report.telling.chapter_study import study_of_chapter
from ladder.report.telling.ladder import distinct_cases, label_of, shows_parallelism
from ladder.report.telling.lines import parallelism
from ladder.site import cases
from ladder.statistics import quotients, verdicts
from ladder.statistics.quotients import Ratio
from ladder.store import study as queries

TIME = "Time"  # the unit of a ladder whose times are those of a call


@dataclass(frozen=True)
class Rung:
    """A rung: its label, what it runs on, its idea, seconds of the ladder's unit; `case` is the index of its case.

    `gain_over_above` and `gain_over_first` are its speed-ups over these rungs, Ratios or None; `rows` are its timed
    calls.
    """

    label: str
    device: str
    resource: str
    idea: str
    seconds: float
    is_peer: bool
    converged: bool
    gain_over_above: Ratio | None
    gain_over_first: Ratio | None
    case: int | None
    rows: pd.DataFrame = field(compare=False, repr=False)

    @property
    def name(self):
        """The label with what the rung runs on, which tells it from others of its variant."""
        return f"{self.label} on {self.resource}" if self.resource else self.label

    @property
    def is_loss(self):
        """Whether the rung is slower than the one above by all of the interval."""
        return (
            self.gain_over_above is not None  # FASTER is the rung above
            and verdicts.outcome_of(self.gain_over_above.low, self.gain_over_above.high) == verdicts.FASTER
        )


@dataclass(frozen=True)
class Ladder:
    """A ladder of a system on a machine; `device` is that of its rungs, `unit` the work whose time is shown."""

    workload: str
    title: str
    machine: str
    device: str
    unit: str
    rungs: tuple[Rung, ...]

    @property
    def heading(self):
        """The heading of the times: those of a call, or per unit of work."""
        return self.unit if self.unit == TIME else f"{TIME} per {self.unit.lower()}"

    @property
    def fastest(self):
        """The fastest rung, which may be a peer."""
        return min(self.rungs, key=lambda rung: rung.seconds)

    @property
    def lead_in_words(self):
        """How the fastest rung compares with the next, in words."""
        others = [rung for rung in self.rungs if rung is not self.fastest]
        second = min(others, key=lambda rung: rung.seconds)
        ratio = ratios.of(second.rows, self.fastest.rows)
        outcome = verdicts.outcome_of(ratio.low, ratio.high)
        if outcome == verdicts.SLOWER:  # the second is
            return f"{ratios.plain(ratio)} faster than {second.name}"
        if outcome == verdicts.EQUAL:
            return f"as fast as {second.name} to within {verdicts.equal_within(ratio.low, ratio.high)} %"
        return f"doesn’t differ significantly from {second.name}"

    @property
    def best_rung(self):
        """The fastest rung that isn't a peer; None without one."""
        return min((rung for rung in self.rungs if not rung.is_peer), key=lambda rung: rung.seconds, default=None)

    @property
    def best_peer(self):
        """The fastest peer; None without one."""
        return min((rung for rung in self.rungs if rung.is_peer), key=lambda rung: rung.seconds, default=None)

    @property
    def gain_over_peer(self):
        """The speed-up of the best rung over the fastest peer, a Ratio; None without both."""
        return ratios.of(self.best_peer.rows, self.best_rung.rows) if self.best_rung and self.best_peer else None

    def bar_length(self, rung):
        """The length of a rung's bar from 0 to 1: its speed-up over the first rung, by logarithms."""
        largest = max(abs(math.log(other.gain_over_first.value)) for other in self.rungs)
        return f"{max(math.log(rung.gain_over_first.value), 0) / largest:.3f}" if largest else "0"


def ladders(study, index):
    """All ladders with at least two measured rungs, by chapter, ladder and machine; `index` is `cases.index_of`."""
    studies = overview.studies_by_machine(study)
    all_ladders = []
    for chapter in chapters.chapters():
        if not chapter.has_lines:
            continue
        by_number = {}
        for machine, study_of_machine in studies.items():
            chapter_study = study_of_chapter(chapter.workload, study_of_machine)
            if chapter_study.unit is None:  # a chapter without a ladder
                continue
            for number, keys in enumerate(ladder_table.ladders(chapter_study)):
                with chapter_code.explain_mistakes(
                    f"The ladder of the chapter {chapter.workload}", chapter.folder / "lines.py"
                ):
                    ladder = ladder_of_lines(chapter_study, chapter, machine, keys, index)
                if ladder:
                    by_number.setdefault(number, []).append(ladder)
        all_ladders += [ladder for number in sorted(by_number) for ladder in by_number[number]]
    return all_ladders


def ladder_of_lines(study, chapter, machine, keys, index):
    """The ladder of these lines of a chapter on a machine; None with fewer than two measured."""
    measured = [(key, rows) for key, rows in distinct_cases(study, keys) if len(rows)]
    if len(measured) < 2:
        return None
    first, above, rungs = measured[0][1], None, []
    for key, rows in measured:
        is_peer = study.rungs.get(study.line(key).variant, "").startswith(chapters.PEER_PREFIX)
        rungs.append(rung(study, key, rows, is_peer, None if is_peer else above, first, index))
        above = above if is_peer else rows
    device = measured[0][1]["device"].iloc[0]
    return Ladder(chapter.workload, chapter.title, machine, device, study.unit, tuple(rungs))


def rung(study, key, rows, is_peer, above, first, index):
    """The rung of a line; `above` and `first` are the rows of these rungs; `above` may be None."""
    line = study.line(key)
    idea = line.idea or study.rungs.get(line.variant, "").removeprefix(chapters.PEER_PREFIX)
    return Rung(
        label_of(study, key),
        rows["device"].iloc[0],
        parallelism(rows.iloc[0]) if shows_parallelism(study, line) else "",
        idea.replace("`", ""),
        quotients.median_time(queries.processes(rows)),
        is_peer,
        bool(rows["converged"].all()),
        None if above is None else ratios.of(above, rows),
        ratios.of(first, rows),
        cases.position(index, rows),
        rows,
    )
