"""The data of a chapter: where its measurements come from, the lines of its ladder, what is claimed of them.

A chapter's `lines.py` has

| name | meaning |
| --- | --- |
| `MACHINES` | {role: Needs or Widest}: of which machines the chapter speaks, for the first two roles of one if any |
| `SOURCES` | {name: Source}: where rows come from, at the sizes that claims are about |
| `LINES` | {key: Line}: the ladder, in its order, and further lines that claims and texts select |
| `UNIT` | what the ladder's times are of, as the head of a column: Gigabyte, Epoch; None where lines are no ladder |
| `RUNGS` | optional: the ideas of variants, of which peers stand beside the ladder; else those of the workload |
| `per_unit(rows)` | optional: the seconds of the unit, where a call isn't one |
| `OUTSIDE` | optional: which phases are no part of every call, such as a copy before the first one, {column: values} |
| `part_of(phases)` | optional: the part of a call to which each phase belongs, in place of its name |
| `TABLE`, `FIGURE` | optional: the keys of the lines in the ladder's table, in groups, and in its waterfall; else all |
| `PANELS` | optional: the panels of the waterfall, {headline: sources of its lines}; else one for each machine |

and `claims.py` CLAIMS, {group: [Claim]}, the groups `earlier` and `rungs`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from ladder.report.figures import formats
from ladder.statistics.verdicts import MARGIN
from ladder.store import collect
from ladder.store.study import values, where

MAX, SEVERAL = "max", "several"  # of the threads, or ranks, that were measured; SEVERAL: if these are more than one
COMMON = "common"  # the largest number on which both sides of a ratio were measured; of one side the same as MAX
SECOND, MIN = "second", "min"
COUNTS = {MAX: -1, SEVERAL: -1, COMMON: -1, SECOND: -2, MIN: 0}  # where they stand among all that were measured
FLOOR = "floor"  # the side of a claim that the model predicts: the minimum time
LATEX_TIMES = r"$\times$"
OFF, UNSTATED = None, "unstated"  # a tuning that a case switches off or doesn't state; one that it doesn't state


class Source:
    """Rows of some experiments on the machine of a role, by the values of columns; `prepare` is applied to them.

    MAX and MIN stand for the largest and the smallest value, SEVERAL for the largest if that is more than one.
    """

    def __init__(self, machine, *experiments, prepare=None, **conditions):
        self.machine, self.experiments, self.prepare, self.conditions = machine, experiments, prepare, conditions

    def rows(self, machine):
        """The timed calls of the study about a machine."""
        frames = [machine.samples(name, **fixed(self.conditions)) for name in self.experiments]
        rows = narrowed(frames[0] if len(frames) == 1 else collect.concatenate(frames), self.conditions)
        return self.prepare(rows) if self.prepare and len(rows) else rows


def fixed(conditions):
    """The conditions that state a value."""
    return {name: value for name, value in conditions.items() if value not in (*COUNTS, OFF, UNSTATED)}


def narrowed(rows, conditions):
    """The rows that meet the other conditions."""
    for name, value in conditions.items():
        if value in COUNTS:
            counts = values(rows, name)
            count = counts[COUNTS[value]] if len(counts) > (value == SECOND) else None
            rows = where(rows, **{name: None if value == SEVERAL and count == 1 else count})
        elif value in (OFF, UNSTATED) and name in rows.columns:
            rows = rows[rows[name].isna() | ((rows[name] == "off") & (value is OFF))]
    return rows


@dataclass(frozen=True)
class Needs:
    """What the machine of a role must have measured: rows of the first of these sources that any machine has.

    They contain all of `variants` and, of each column in `min`, a value of at least so much. Roles that are `apart` are
    assigned one by one; the others share one machine if possible.
    """

    sources: tuple[str, ...]
    variants: frozenset = frozenset()
    min: dict = field(default_factory=dict)
    apart: bool = False

    def machines(self, candidates, sources):
        """The candidates, studies about one machine each, that meet the needs."""
        for name in self.sources:
            if able := [machine for machine in candidates if self.are_met(sources[name].rows(machine))]:
                return able
        return []

    def are_met(self, rows):
        """Whether rows contain what is needed."""
        is_enough = all(max(values(rows, name), default=-math.inf) >= number for name, number in self.min.items())
        return len(rows) > 0 and self.variants <= set(values(rows, "variant")) and is_enough


@dataclass(frozen=True)
class Widest:
    """The machine of a role is the first with the largest number in a column, such as ranks, if that is above one."""

    source: str
    column: str
    apart = True

    def machines(self, candidates, sources):
        """That machine, or none."""
        counts = [max(values(sources[self.source].rows(machine), self.column), default=0) for machine in candidates]
        largest = max(counts, default=0)
        return [candidates[counts.index(largest)]] if largest > 1 else []


@dataclass(frozen=True)
class Line:
    """A variant at a tuning that is fixed beforehand, so that none is picked by its time.

    `words` and `note` tell it from other lines of its variant; `relieves` is the resource that it saves. A line that
    `begins` another ladder has no speed-up over the line above. Without an idea it has that of its variant in RUNGS.
    """

    variant: str
    tuning: dict
    source: str
    idea: str = ""
    relieves: str = ""
    words: tuple[str, ...] = ()
    note: str = ""  # prose; the words are code
    begins: bool = False

    def rows(self, frame):
        """The rows of its first case among those of a source."""
        rows = narrowed(where(frame, variant=self.variant, **fixed(self.tuning)), self.tuning)
        return where(rows, case=min(rows["case"])) if len(rows) else rows


@dataclass(frozen=True)
class Selection:
    """Cases of a line: on the ladder, or the plain calls of a source, with some of the line's tuning changed."""

    line: str
    source: str | None = None
    tuning: dict = field(default_factory=dict)


def select(line, source=None, **tuning):
    """A Selection, the changed tuning as keywords; without a source and a change it is the line of the ladder."""
    return Selection(line, source, tuning)


@dataclass(frozen=True)
class Cause:
    """A ratio as the cause of a verdict, behind words: of two sides, or `ratio(study)`; short, or with its interval."""

    words: str
    slower: str | Selection | None = None
    faster: str | Selection | None = None
    ratio: Callable | None = None
    has_interval: bool = False


@dataclass(frozen=True)
class Claim:
    """The claim that a ratio, the time of `slower` over that of `faster`, lies between `min` and `max`.

    The words are LaTeX with code in `backticks`. A side is the key of a line, a Selection or, of `faster`, FLOOR;
    `ratio(study)` replaces both sides. The cause is words, a Cause or a function of the study and the ratio.
    """

    key: str
    words: str
    slower: str | Selection | None = None
    faster: str | Selection | None = None
    min: float = 1
    max: float = math.inf
    margin: float = MARGIN
    needs: str = "both rungs"
    cause: str | Cause | Callable | None = None
    ratio: Callable | None = None


def place(row, times="×"):
    """Where a case runs: `8 threads`, `4 ranks`, `4 × 8 threads`, `2 GPUs`; the sign of times is LaTeX in texts."""
    ranks, threads = (row.get(name) for name in ("ranks", "threads"))
    if row["device"] in ("cuda", "mpi_cuda"):
        return formats.gpus(1 if row["device"] == "cuda" else int(ranks))
    if row["device"] == "host":
        return formats.threads(1 if pd.isna(threads) else int(threads))  # a case without a number has one
    if pd.notna(threads):
        return f"{ranks:.0f} {times} {formats.threads(int(threads))}"
    return "1 rank" if ranks == 1 else f"{ranks:.0f} ranks"
