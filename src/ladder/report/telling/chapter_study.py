"""The study as a chapter sees it: its machines, the rows of its lines, their phases and what its model predicts.

Text, tables, figures and claims of a chapter ask the same one. What is missing raises NotMeasured.
"""

import difflib
import importlib
import importlib.util
from dataclasses import replace

import pandas as pd

from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.report import PUBLISHED, ratios, study
from ladder.report.telling.lines import COMMON, FLOOR, Selection

CLOSE = 1.2  # times a call, or the other way: what phases may add up to and still be its parts


class NotMeasured(Exception):
    """A value has no measurement; it vanishes with the block of the text around it, or `words` stand in its place."""

    def __init__(self, words=r"\nomeasurement{}", needs=None):
        super().__init__(words)
        self.words, self.needs = words, needs


def of_chapter(workload, found):
    """The ChapterStudy of a workload, made once for a study."""
    key = of_chapter, workload
    if key not in found.answers:
        found.answers[key] = ChapterStudy(workload, found)
    return found.answers[key]


def module(workload, name):
    """A module of a chapter, or None without one."""
    workloads.load(workload)
    full = f"ladder.workloads.{workload}.paper.{name}"
    return importlib.import_module(full) if importlib.util.find_spec(full) else None


def nearest(kind, name, names):
    """What of a kind has this name. Raises LadderError with the nearest right name where nothing has."""
    if name not in names:
        near = difflib.get_close_matches(str(name), map(str, names), 1, 0)
        raise LadderError(f"There is no {kind} {name!r}" + (f": did you mean {near[0]!r}?" if near else "."))
    return names[name]


def pick_machines(found, needs, sources):
    """The study about the machine of each role, {role: Study}; about none where no machine meets the needs.

    One machine has all roles if any meets those of the first two, this one before the published ones; what it lacks is
    of the first machine that has it. Toy sizes decide nothing: no machine that has only these meets any.
    """
    each = [found.of(name) for name in found.machines()]
    able = {role: one.machines(each, sources) for role, one in needs.items()}
    names = {role: [one.subject for one in some] for role, some in able.items()}
    together = [role for role, one in needs.items() if not one.apart]

    def rank(one):
        meets = [one.subject in names[role] for role in together]
        return all(meets[:2]), not one.subject.endswith(PUBLISHED), sum(meets)

    best = max(each, key=rank, default=found.of(None))
    return {
        role: best if role in together and best.subject in names[role] else next(iter(some), found.of(None))
        for role, some in able.items()
    }


class ChapterStudy:
    """A study in the terms of a chapter; its attributes are those of the chapter's `lines.py`."""

    def __init__(self, workload, found):
        data = module(workload, "lines")
        self.workload, self.study = workload, found
        self.lines, self.beside, self.sources = data.LINES, getattr(data, "BESIDE", {}), data.SOURCES
        self.unit, self.per_unit = data.UNIT, getattr(data, "per_unit", None)
        self.is_before, self.part_of = getattr(data, "is_before", None), getattr(data, "part_of", None)
        self.model = module(workload, "model")  # None where nothing is predicted
        self.machines = pick_machines(found, data.MACHINES, data.SOURCES)
        self.frames = {}

    def machine(self, role):
        """The study about the machine of a role; its subject is None without one."""
        return nearest("machine", role, self.machines)

    def machine_of(self, selection):
        """The study about the machine that measures a selection."""
        return self.machine(self.source_of(selection).machine)

    def source_of(self, selection):
        """The Source of a selection: its own, or that of its line."""
        return nearest("source", self.source_name(selection), self.sources)

    def source_name(self, selection):
        """The name of that source."""
        selection = selection_of(selection)
        return selection.source or self.line(selection).source

    def line(self, selection):
        """The line of a selection, with what the selection changes of its tuning."""
        selection = selection_of(selection)
        return selection.changed(nearest("line", selection.line, self.lines | self.beside))

    def frame(self, name):
        """All rows of a source, its timed calls."""
        if name not in self.frames:
            one = nearest("source", name, self.sources)
            self.frames[name] = one.rows(self.machine(one.machine))
        return self.frames[name]

    def find(self, selection):
        """The timed calls of a selection, which may be none; those of the ladder with the seconds of its unit."""
        selection = selection_of(selection)
        line = self.line(selection)
        return self.in_units(selection, line.rows(self.frame(selection.source or line.source)))

    def in_units(self, selection, rows):
        """Rows of a selection, those of the ladder with the seconds of its unit."""
        is_on_ladder = self.per_unit and selection_of(selection).source is None and len(rows)
        return rows.assign(seconds=self.per_unit(rows)) if is_on_ladder else rows

    def rows(self, selection):
        """The same; raises NotMeasured without any."""
        rows = self.find(selection)
        if rows.empty:
            raise NotMeasured
        return rows

    def ratio(self, slower, faster):
        """The time of one selection over that of another, or over what the model says of it, as a Ratio."""
        if faster == FLOOR:
            return ratios.over(self.rows(slower), self.predicted(slower))
        return ratios.of(*map(self.rows, self.paired(slower, faster)))

    def paired(self, *selections):
        """Selections with COMMON as the largest number on which all were measured; raises NotMeasured without one."""
        pair = [selection_of(one) for one in selections]
        common = [{name for name, value in self.line(one).tuning.items() if value == COMMON} for one in pair]
        for name in set.intersection(*common):
            counts = [set(study.values(self.frame(self.source_name(one)), name)) for one in pair]
            for count in sorted(set.intersection(*counts), reverse=True):
                at_count = [replace(one, tuning=one.tuning | {name: count}) for one in pair]
                if all(len(self.find(one)) for one in at_count):
                    pair = at_count
                    break
            else:
                raise NotMeasured
        return pair

    def ratio_to_best(self, slower, candidates):
        """The time of a selection over that of the best of several, which other processes choose than test it."""
        cases = {number: rows for number, one in enumerate(candidates) if len(rows := self.find(one))}
        if not cases:
            raise NotMeasured
        return ratios.of_best(self.rows(slower), cases)

    def predicted(self, selection):
        """The seconds that the model gives a selection; NotMeasured where it lacks a rate."""
        seconds = self.predict(selection, self.rows(selection))
        if not seconds:
            raise NotMeasured
        return seconds

    def predict(self, selection, rows):
        """The same of rows, which may be none; None where the model lacks a rate."""
        return self.model.predict(self.machine_of(selection), rows.iloc[0]) if self.model and len(rows) else None

    def phases(self, selection):
        """The rows of the phases of every call of a selection's case; none where these weren't timed."""
        return self.in_units(selection, self.phases_of(self.machine_of(selection), self.find(selection)))

    def phases_before(self, selection):
        """Those of what was done once, before the first call."""
        return self.phases_of(self.machine_of(selection), self.find(selection), before=True)

    def phases_of(self, machine, rows, before=False):
        """The same of some rows of a case of a machine."""
        if rows.empty:
            return study.NO_ROWS
        first = rows.iloc[0]
        every = machine.rows("samples", first["experiment"], variant=first["variant"], case=first["case"])
        every = every[every["phase"] != "total"]
        is_before = self.is_before(every) if self.is_before and len(every) else every["phase"].isna()
        every = every[is_before == before]
        return every.assign(phase=self.part_of(every["phase"])) if self.part_of and len(every) else every

    def over_the_rest(self, selection, phases, inverse=False):
        """The time of some phases of every call over that of all others, or the other way round, as a Ratio.

        Raises NotMeasured without any of them, or where one went on together with others.
        """
        rows = self.phases(selection)
        if rows.empty or rows["phase"].str.contains(" and ").any():
            raise NotMeasured
        is_inside = rows["phase"].isin(phases)
        found = ratios.of_parts(*(rows[is_inside == one] for one in (not inverse, inverse)))
        if found is None:
            raise NotMeasured
        return found


def selection_of(selection):
    """A selection, of which the key of a line is the short form."""
    return selection if isinstance(selection, Selection) else Selection(selection)


def counted(row, name):
    """A number of ranks or threads; one where a case states none."""
    value = row.get(name, 1)
    return 1 if pd.isna(value) else int(value)


def phase_times(phases):
    """Seconds of every phase, {phase: seconds}, each the median over processes of their medians.

    What a call has several phases of by one name adds up.
    """
    names = phases["phase"].unique() if len(phases) else ()
    by_pass = {name: study.where(phases, phase=name).groupby(["process", "sample"])["seconds"].sum() for name in names}
    return {name: study.middle(times.reset_index()) for name, times in by_pass.items()}


def whole(rows, phases):
    """What all phases of a case take over its call; None without phases."""
    times = phase_times(phases)
    return sum(times.values()) / study.middle(rows) if times else None


def parts(rows, phases):
    """Seconds of every phase where they add up to the call; {} where they don't: then they are no parts of it."""
    share = whole(rows, phases)
    return phase_times(phases) if share and 1 / CLOSE < share < CLOSE else {}
