"""The data of a chapter: where its measurements come from, the lines of its ladder, what is claimed of them.

A chapter's `lines.py` has

| name | meaning |
| --- | --- |
| `MACHINES` | {role: Needs or Widest}: of which machines the chapter speaks, for the first two roles of one if any |
| `SOURCES` | {name: Source}: where rows come from, at the sizes that claims are about |
| `LINES` | {key: Line}: the ladder, in its order |
| `UNIT` | whose time the ladder compares, as the head of a column: Gigabyte, Epoch |
| `per_unit(rows)` | optional: the seconds of the unit, where a call isn't one |
| `is_before(phases)` | optional: which rows of phases are no part of every call, such as a copy before the first one |
| `part_of(phases)` | optional: the part of a call to which each phase belongs, in place of its name |
| `TABLE` | optional: the lines of the ladder's table, groups of keys, with rules between them; by default all |

and `claims.py` CLAIMS, {group: [Claim]}, the groups `earlier` and `rungs`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pandas as pd

from ladder.report import collect, study
from ladder.report.figures import formats
from ladder.statistics.verdicts import MARGIN

MAX, SEVERAL = "max", "several"  # of the threads, or ranks, that were measured; SEVERAL: if these are more than one
FLOOR = "floor"  # the side of a claim that the model gives: the least time
OFF, UNSTATED = None, "unstated"  # of a tuning that a case switches off or doesn't state, or that it doesn't state


@dataclass(frozen=True)
class Source:
    """Rows of some experiments on the machine of a role, by the values of columns.

    `prepare` is applied to the rows, to keep those with most images, say.
    """

    machine: str
    experiments: tuple[str, ...]
    conditions: dict
    prepare: Callable | None = None

    def rows(self, found, phase="total"):
        """The timed calls of a study's subject, or with None as the phase all its rows."""
        conditions = self.conditions | ({"phase": phase} if phase else {})
        frames = [found.rows("samples", name, **conditions) for name in self.experiments]
        rows = frames[0] if len(frames) == 1 else collect.concatenated(frames)
        return self.prepare(rows) if self.prepare and len(rows) else rows


def source(machine, *experiments, prepare=None, **conditions):
    """A Source, its conditions as keywords."""
    return Source(machine, experiments, conditions, prepare)


@dataclass(frozen=True)
class Needs:
    """What the machine of a role must have measured: rows of the first of these sources that any machine has.

    Among them are all of `variants`, and of each column in `min` a value of at least so much. A role that is `apart`
    has no part in choosing one machine for all roles.
    """

    sources: tuple[str, ...]
    variants: frozenset = frozenset()
    min: dict = field(default_factory=dict)
    apart: bool = False

    def machines(self, each, sources):
        """Those of some studies, one about each machine, that meet the needs."""
        for name in self.sources:
            if some := [one for one in each if self.are_met(sources[name].rows(one))]:
                return some
        return []

    def are_met(self, rows):
        """Whether some rows hold what is needed."""
        is_enough = all(max(study.values(rows, name), default=-math.inf) >= least for name, least in self.min.items())
        return len(rows) > 0 and self.variants <= set(study.values(rows, "variant")) and is_enough


@dataclass(frozen=True)
class Widest:
    """The machine of a role is the first one with the most of something, such as ranks, and with more than one."""

    source: str
    column: str
    apart = True

    def machines(self, each, sources):
        """That machine, or none."""
        counts = [max(study.values(sources[self.source].rows(one), self.column), default=0) for one in each]
        most = max(counts, default=0)
        return [each[counts.index(most)]] if most > 1 else []


@dataclass(frozen=True)
class Line:
    """A variant at a tuning that is fixed beforehand, so that none is picked by its time.

    `words` tell it from others of its variant; `relieves` is the resource that it saves. One that `begins` something
    else has no gain over the line above; a peer stands beside the ladder.
    """

    variant: str
    tuning: dict
    source: str
    idea: str = ""
    relieves: str = ""
    words: tuple[str, ...] = ()
    begins: bool = False
    is_peer: bool = False

    def rows(self, frame):
        """The rows of its first case among those of a source."""
        rows = study.where(frame, variant=self.variant)
        others = (MAX, SEVERAL, OFF, UNSTATED)
        rows = study.where(rows, **{name: value for name, value in self.tuning.items() if value not in others})
        for name, value in self.tuning.items():
            if value in (MAX, SEVERAL):
                rows = study.where(rows, **{name: count_of(rows, name, value)})
            elif value in (OFF, UNSTATED) and name in rows.columns:
                rows = rows[rows[name].isna() | ((rows[name] == "off") & (value is OFF))]
        return study.where(rows, case=min(rows["case"])) if len(rows) else rows


def count_of(rows, column, which):
    """The largest number in a column; None without any, and of SEVERAL where that is one."""
    largest = max(study.values(rows, column), default=None)
    return None if which == SEVERAL and largest == 1 else largest


@dataclass(frozen=True)
class Selection:
    """Cases of a line: on the ladder, or the plain calls of a source, with some of the line's tuning changed."""

    line: str
    source: str | None = None
    tuning: dict = field(default_factory=dict)

    def changed(self, line):
        """The line with its tuning changed."""
        return replace(line, tuning=line.tuning | self.tuning) if self.tuning else line


def select(line, source=None, **tuning):
    """A Selection, the changed tuning as keywords; one without a source and a change is the line of the ladder."""
    return Selection(line, source, tuning)


@dataclass(frozen=True)
class Cause:
    """An ablation as the cause of a verdict: words, and the ratio of two sides."""

    words: str
    slower: str | Selection
    faster: str | Selection


@dataclass(frozen=True)
class Claim:
    """What is claimed of a ratio, the time of `slower` over that of `faster`: that it lies from `min` to `max`.

    The words are LaTeX with code in `backticks`. A side is the key of a line, a Selection or, of `faster`, FLOOR; where
    the claim is odd, `ratio(study)` gives it. The cause is words, a Cause or a function of the study and the ratio.
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


def place(row):
    """Where a case runs: `8 threads`, `4 ranks`, `4 × 8 threads`, `2 GPUs`."""
    ranks, threads = (row.get(name) for name in ("ranks", "threads"))
    if row["device"] in ("cuda", "mpi_cuda"):
        return "1 GPU" if row["device"] == "cuda" or ranks == 1 else f"{ranks:.0f} GPUs"
    if row["device"] == "host":
        return formats.threads(1 if pd.isna(threads) else int(threads))  # a case that states none has one
    if pd.notna(threads):
        return f"{ranks:.0f} × {formats.threads(int(threads))}"
    return "1 rank" if ranks == 1 else f"{ranks:.0f} ranks"
