"""The types of a chapter's data: the sources of its measurements, the lines of its ladder, and claims about them.

A chapter's `lines.py` has these names:

| name | meaning |
| --- | --- |
| `MACHINES` | {role: Needs}: the chapter's machines; the first two shared roles have the same one if possible |
| `SOURCES` | {name: Source}: the rows of some experiments, at the sizes that claims are about |
| `LINES` | {key: Line}: the ladder, in its order, and further lines that claims and texts select |
| `UNIT` | the work whose time the ladder shows, as the head of a column: Gigabyte, Epoch; None without a ladder |
| `RUNGS` | optional, {variant: idea} for variants of several workloads; else the workload's. `peer: ` marks a peer |
| `per_unit(rows)` | optional: the seconds of a unit in each row, if a call isn't one unit |
| `OUTSIDE` | optional, {column: values}: rows with these values are phases outside of calls, such as a first copy |
| `part_of(phases)` | optional: the part of a call to which each phase belongs, used in place of its name |
| `TABLE`, `FIGURE` | optional: the keys of the lines in the ladder's table, in groups, and in its waterfall; else all |
| `PANELS` | optional: the panels of the waterfall, {headline: sources of its lines}; else one for each machine |

and `claims.py` CLAIMS, {group: [Claim]}: `earlier`, what the earlier study claimed, and `own`, claims of ours.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pandas as pd

from ladder.report import ratios
from ladder.report.figures import formats
from ladder.statistics.claims import decide
from ladder.store import collect
from ladder.store.study import values, where

MAX, SEVERAL = "max", "several"  # the largest measured value of a column, such as threads; SEVERAL: only if above 1
COMMON = "common"  # the largest number at which both sides of a ratio were measured; without a ratio the same as MAX
SECOND_LARGEST, MIN = "second", "min"  # the second largest number, and the smallest
COUNT_INDICES = {MAX: -1, SEVERAL: -1, COMMON: -1, SECOND_LARGEST: -2, MIN: 0}  # in the sorted measured numbers
FLOOR = "floor"  # a side of a claim: the minimum time that the model predicts
LATEX_TIMES = r"$\times$"
OFF, UNSTATED = None, "unstated"  # OFF: a tuning is "off" or not stated; UNSTATED: it isn't stated


class Source:
    """Rows of experiments on a role's machine that meet conditions (`select_rows`); `prepare(rows)` changes them."""

    def __init__(self, role, *experiments, prepare=None, **conditions):
        self.role, self.experiments, self.prepare, self.conditions = role, experiments, prepare, conditions

    def rows(self, machine):
        """The timed calls of `machine`, a study about one machine."""
        frames = [machine.samples(name, **plain_conditions(self.conditions)) for name in self.experiments]
        rows = select_rows(frames[0] if len(frames) == 1 else collect.concatenate(frames), self.conditions)
        return self.prepare(rows) if self.prepare and len(rows) else rows


def plain_conditions(conditions):
    """The conditions with a plain value, none of COUNT_INDICES, OFF and UNSTATED."""
    return {name: value for name, value in conditions.items() if value not in (*COUNT_INDICES, OFF, UNSTATED)}


def select_rows(rows, conditions):
    """The rows that meet conditions, {column: value}; a value may be one of COUNT_INDICES, OFF or UNSTATED."""
    rows = where(rows, **plain_conditions(conditions))
    for name, value in conditions.items():
        if value in COUNT_INDICES:
            counts = values(rows, name)
            count = counts[COUNT_INDICES[value]] if len(counts) > (value == SECOND_LARGEST) else None
            rows = where(rows, **{name: None if value == SEVERAL and count == 1 else count})
        elif value in (OFF, UNSTATED) and name in rows.columns:
            rows = rows[rows[name].isna() | ((rows[name] == "off") & (value is OFF))]
    return rows


@dataclass(frozen=True)
class Needs:
    """What the machine of a role must have measured: rows of one source, the first that any machine satisfies.

    These contain all `variants` and, for each column in `min`, a value of at least that number. With `widest` it is the
    first machine with the largest number above 1 in that column, such as ranks. Roles with neither `separate` nor
    `widest` are shared: one machine, which meets the first two of them if possible, gets all of them that it meets.
    """

    sources: tuple[str, ...]
    variants: frozenset = frozenset()
    min: dict = field(default_factory=dict)
    separate: bool = False
    widest: str = ""

    def machines(self, candidates, sources):
        """The candidates, studies about one machine each, that meet the needs."""
        for name in self.sources:
            rows = {machine.machine_name: sources[name].rows(machine) for machine in candidates}
            suitable = [machine for machine in candidates if self.are_met(rows[machine.machine_name])]
            if suitable and self.widest:
                return [max(suitable, key=lambda machine: max(values(rows[machine.machine_name], self.widest)))]
            if suitable:
                return suitable
        return []

    def are_met(self, rows):
        """Whether rows meet the needs."""
        numbers = self.min | ({self.widest: 2} if self.widest else {})
        is_enough = all(max(values(rows, name), default=-math.inf) >= number for name, number in numbers.items())
        return len(rows) > 0 and self.variants <= set(values(rows, "variant")) and is_enough


@dataclass(frozen=True)
class Line:
    """A variant at a tuning that is fixed before any measurement, so that none is picked by its time.

    Its `label`, with code in `backticks`, distinguishes it from other lines of its variant; `relieves` is the resource
    that it saves. A line that `begins` another ladder has no speed-up over the line above. RUNGS has default ideas.
    """

    variant: str
    tuning: dict
    source: str
    idea: str = ""
    relieves: str = ""
    label: str = ""
    begins: bool = False

    def rows(self, frame):
        """The rows of the line's case among those of a source; of several cases, that whose name sorts first."""
        rows = select_rows(frame, {"variant": self.variant} | self.tuning)
        return where(rows, case=min(rows["case"])) if len(rows) else rows


@dataclass(frozen=True)
class Selection:
    """A line, maybe with another tuning: in units of the ladder or, with a source, in plain calls of that source.

    With `phases` it is their sum or, if it `excludes_phases`, that of all others; `column` is that of its seconds.
    """

    line: str
    source: str | None = None
    tuning: dict = field(default_factory=dict, hash=False)  # a dict has no hash; `==` still compares it
    phases: tuple[str, ...] = ()
    excludes_phases: bool = False
    column: str = ""

    def with_tuning(self, **tuning):
        """The same with a changed tuning."""
        return replace(self, tuning=self.tuning | tuning)

    def phase(self, *phases):
        """These phases, of the calls or before the first one; without any the whole calls."""
        return replace(self, phases=phases, excludes_phases=False)

    def without(self, *phases):
        """All phases of the calls but these."""
        return replace(self, phases=phases, excludes_phases=True)

    def with_column(self, column):
        """The seconds in another column, such as those of a process's start."""
        return replace(self, column=column)


def select(line, source=None, **tuning):
    """A Selection; keywords change the line's tuning."""
    return Selection(line, source, tuning)


@dataclass(frozen=True)
class Cause:
    """The cause of a verdict: words and the ratio of two sides, its interval only if `has_interval`.

    With the bounds of a claim, `min` and `max`, it includes the verdict that the ratio alone would give.
    """

    words: str
    slower: str | Selection
    faster: str | Selection
    has_interval: bool = False
    min: float = 1
    max: float | None = None

    def __call__(self, study, ratio):
        """The cause in LaTeX, whatever the ratio of the claim is; raises NotMeasured if a side wasn't measured."""
        measured = study.ratio(self.slower, self.faster)
        text = f"{self.words} {ratios.latex(measured) if self.has_interval else ratios.short(measured.value)}"
        point = replace(measured, low=measured.value, high=measured.value)
        return f"{text} ({decide(point, self.min, self.max).verdict})" if self.max else text


@dataclass(frozen=True)
class Claim:
    """The claim that a ratio, the time of `slower` over that of `faster`, lies between `min` and `max`.

    The words are LaTeX with code in `backticks`. A side is the key of a line, a Selection or, of `faster`, FLOOR;
    `ratio(study)` replaces both, and raises NotMeasured if one is missing. `needs` is what an untested claim lacks. The
    cause is words or a function of the study and the ratio, such as a Cause. `place` is where an earlier study says it.
    """

    key: str
    words: str
    slower: str | Selection | None = None
    faster: str | Selection | None = None
    min: float = 1
    max: float = math.inf
    needs: str = "both rungs"
    cause: str | Callable | None = None
    ratio: Callable | None = None
    place: str = ""


def equals(ratio):
    """The bounds of a Claim that its ratio is `ratio`."""
    return {"min": ratio, "max": ratio}


EQUAL = equals(1)


@dataclass(frozen=True)
class EarlierTime:
    """The time in `words` that an earlier study published, that of its program today, and that of the best line today.

    The first over the second is the gain of hardware, the second over the third that of code. `seconds` is None if the
    work isn't known to equal ours. `program` and `best` are selections, or functions of the study that return seconds.
    """

    words: str
    seconds: float | None
    program: str | Selection | Callable
    best: str | Selection | Callable


def parallelism(row, sign="×"):
    """The number of threads, ranks or GPUs of a case: `8 threads`, `4 × 8 threads` or, without `sign`, in words."""
    ranks, threads, gpus = (count_or_one(row, name) for name in ("ranks", "threads", "gpus"))
    if row["device"] in ("cuda", "mpi_cuda", "offload"):
        return formats.gpus(gpus if row["device"] == "offload" else ranks)
    if row["device"] == "host":
        return formats.threads(threads)
    in_words = "1 rank" if ranks == 1 else f"{ranks} ranks"
    if pd.isna(row.get("threads")):
        return in_words
    return f"{ranks} {sign} {formats.threads(threads)}" if sign else f"{in_words} of {formats.threads(threads)}"


def count_or_one(row, name):
    """A row's number of ranks, threads or GPUs; 1 if the case states none."""
    value = row.get(name, 1)
    return 1 if pd.isna(value) else int(value)
