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
from ladder.report import ratios
from ladder.report.figures import methods
from ladder.report.telling.lines import COMMON, FLOOR, Selection
from ladder.store import PUBLISHED
from ladder.store import study as queries

CLOSE = 1.2  # times a call, or the other way: what phases may add up to and still be its parts


class NotMeasured(Exception):
    """A value has no measurement; it vanishes with the block of the text around it, or `words` stand in its place."""

    def __init__(self, words=r"\nomeasurement{}", needs=None):
        super().__init__(words)
        self.words, self.needs = words, needs


def required(value):
    """A value that was measured. Raises NotMeasured for None and for an empty list or frame."""
    if value is None or (hasattr(value, "__len__") and not len(value)):
        raise NotMeasured
    return value


def of_chapter(workload, study):
    """The ChapterStudy of a workload, made once for a study."""
    key = of_chapter, workload
    if key not in study.answers:
        study.answers[key] = ChapterStudy(workload, study)
    return study.answers[key]


def module(workload, name):
    """A module of a chapter, or None without one."""
    workloads.load(workload)
    full = f"ladder.workloads.{workload}.paper.{name}"
    return importlib.import_module(full) if importlib.util.find_spec(full) else None


def nearest(kind, name, values):
    """The value of this name among those of a kind. Raises LadderError with the nearest name for an unknown one."""
    if name not in values:
        near = difflib.get_close_matches(str(name), map(str, values), 1, 0)
        raise LadderError(f"There is no {kind} {name!r}" + (f": did you mean {near[0]!r}?" if near else "."))
    return values[name]


def pick_machines(study, needs, sources):
    """The study about the machine of each role, {role: Study}; about none where no machine meets the needs.

    One machine has all roles if any meets those of the first two, this one before the published ones; what it lacks is
    of the first machine that has it. Toy sizes decide nothing: no machine that has only these meets any.
    """
    machines = [study.of(name) for name in study.machines()]
    able = {role: need.machines(machines, sources) for role, need in needs.items()}
    names = {role: [machine.subject for machine in candidates] for role, candidates in able.items()}
    together = [role for role, need in needs.items() if not need.apart]

    def rank(machine):
        meets = [machine.subject in names[role] for role in together]
        return all(meets[:2]), not machine.subject.endswith(PUBLISHED), sum(meets)

    best = max(machines, key=rank, default=study.of(None))
    return {
        role: best if role in together and best.subject in names[role] else next(iter(candidates), study.of(None))
        for role, candidates in able.items()
    }


class ChapterStudy:
    """A study in the terms of a chapter; its attributes are those of the chapter's `lines.py`."""

    def __init__(self, workload, study):
        data = module(workload, "lines")
        self.workload, self.study = workload, study
        self.lines, self.sources, self.unit = data.LINES, data.SOURCES, data.UNIT
        self.table = getattr(data, "TABLE", [list(data.LINES)])
        self.figure, self.panels = getattr(data, "FIGURE", list(data.LINES)), getattr(data, "PANELS", {})
        self.rungs = getattr(data, "RUNGS", getattr(workloads.load(workload), "RUNGS", {}))
        self.method = methods.columns(workload)
        self.per_unit, self.outside = getattr(data, "per_unit", None), getattr(data, "OUTSIDE", {"phase": ()})
        self.part_of = getattr(data, "part_of", None)
        self.model = module(workload, "model")  # None where nothing is predicted
        self.machines = pick_machines(study, data.MACHINES, data.SOURCES)
        self.frames = {}

    def machine(self, role):
        """The study about the machine of a role; its subject is None without one."""
        return nearest("machine", role, self.machines)

    def machine_of(self, selection):
        """The study about the machine that measures a selection."""
        return self.machine(nearest("source", self.source_of(selection), self.sources).machine)

    def source_of(self, selection):
        """The name of the source of a selection: what it states, or that of its line."""
        selection = selection_of(selection)
        return selection.source or self.line(selection).source

    def line(self, selection):
        """The line of a selection, with the tuning that the selection changes."""
        selection = selection_of(selection)
        line = nearest("line", selection.line, self.lines)
        return replace(line, tuning=line.tuning | selection.tuning)

    def frame(self, name):
        """All rows of a source, its timed calls."""
        if name not in self.frames:
            source = nearest("source", name, self.sources)
            self.frames[name] = source.rows(self.machine(source.machine))
        return self.frames[name]

    def find(self, selection):
        """The timed calls of a selection, which may be none; those of the ladder with the seconds of its unit."""
        return self.in_units(selection, self.line(selection).rows(self.frame(self.source_of(selection))))

    def in_units(self, selection, rows):
        """Rows of a selection, those of the ladder with the seconds of its unit."""
        is_on_ladder = self.per_unit and selection_of(selection).source is None and len(rows)
        return rows.assign(seconds=self.per_unit(rows)) if is_on_ladder else rows

    def rows(self, selection):
        """The same; raises NotMeasured without any."""
        return required(self.find(selection))

    def ratio(self, slower, faster):
        """The time of a selection over that of another, or over the model's prediction for it, as a Ratio."""
        if faster == FLOOR:
            return ratios.over(self.rows(slower), self.predicted(slower))
        return ratios.of(*map(self.rows, self.paired(slower, faster)))

    def paired(self, *selections):
        """Selections with COMMON as the largest number on which all were measured; raises NotMeasured without one."""
        pair = list(map(selection_of, selections))
        common = [{name for name, value in self.line(side).tuning.items() if value == COMMON} for side in pair]
        for name in set.intersection(*common):
            counts = [set(queries.values(self.frame(self.source_of(side)), name)) for side in pair]
            for count in sorted(set.intersection(*counts), reverse=True):
                at_count = [replace(side, tuning=side.tuning | {name: count}) for side in pair]
                if all(len(self.find(side)) for side in at_count):
                    pair = at_count
                    break
            else:
                raise NotMeasured
        return pair

    def predicted(self, selection):
        """The seconds that the model predicts for a selection; NotMeasured where it lacks a rate."""
        return required(self.predict(selection, self.rows(selection)))

    def predict(self, selection, rows):
        """The same of rows, which may be none; None where the model lacks a rate."""
        return self.model.predict(self.machine_of(selection), rows.iloc[0]) if self.model and len(rows) else None

    def phases(self, selection, before=False):
        """The rows of the phases of every call of a selection's case, or before the first; none if not timed."""
        return self.in_units(selection, self.phases_of(self.machine_of(selection), self.find(selection), before))

    def phases_of(self, machine, rows, before=False):
        """The same of some rows of a case of a machine."""
        if rows.empty:
            return queries.NO_ROWS
        first = rows.iloc[0]
        every = machine.rows("samples", first["experiment"], variant=first["variant"], case=first["case"])
        every = every[every["phase"] != "total"]
        is_before = every.reindex(columns=[*self.outside]).isin(self.outside).all(axis=1)
        every = every[is_before == before]
        return every.assign(phase=self.part_of(every["phase"])) if self.part_of and len(every) else every

    def traced(self, experiment, selections, machines=None):
        """{machine and title: what ran when in the first process} of {title: selection}; by default on all machines."""
        traces = self.study.tables.get(experiment, {}).get("traces", queries.NO_ROWS)
        machines = queries.ordered(queries.values(traces, "machine")) if machines is None else machines
        first = {name: queries.where(traces, machine=name, process=0) for name in machines}
        lines = {title: self.line(selection) for title, selection in selections.items()}
        rows = {f"{name}: {title}": line.rows(first[name]) for name in machines for title, line in lines.items()}
        return {title: traced for title, traced in rows.items() if len(traced)}

    def over_the_rest(self, selection, phases, inverse=False):
        """The time of some phases of every call over that of all others, or the other way round, as a Ratio.

        Raises NotMeasured without any of them, or where one went on together with others.
        """
        rows = required(self.phases(selection))
        if rows["phase"].str.contains(" and ").any():
            raise NotMeasured
        is_inside = rows["phase"].isin(phases)
        return required(ratios.of_parts(*(rows[is_inside == side] for side in (not inverse, inverse))))

    def phase_shares(self, selection):
        """The share of every phase, {phase: share}, where the phases add up to the call; {} where they don't."""
        times = parts(self.rows(selection), self.phases(selection))
        return {phase: time / sum(times.values()) for phase, time in times.items()}


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
    by_pass = {
        name: queries.where(phases, phase=name).groupby(["process", "sample"])["seconds"].sum() for name in names
    }
    return {name: queries.middle(times.reset_index()) for name, times in by_pass.items()}


def whole(rows, phases):
    """What all phases of a case take over its call; None without phases."""
    times = phase_times(phases)
    return sum(times.values()) / queries.middle(rows) if times else None


def parts(rows, phases):
    """Seconds of every phase where they add up to the call; {} where they don't: then they are no parts of it."""
    share = whole(rows, phases)
    return phase_times(phases) if share and 1 / CLOSE < share < CLOSE else {}
