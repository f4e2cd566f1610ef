"""A chapter's queries of the study: its machines, and rows, phases and predicted times of its lines.

Text, tables, figures and claims of a chapter share one ChapterStudy. Missing measurements raise NotMeasured.
"""

import importlib
import importlib.util
from dataclasses import replace

from ladder.catalogue import workloads
from ladder.errors import LadderError, did_you_mean
from ladder.report import ratios
from ladder.report.answers import cache_answers
from ladder.report.figures import methods
from ladder.report.machine_choice import pick_machines
from ladder.report.telling.lines import COMMON, FLOOR, Selection
from ladder.store import study as queries

PHASES_TOLERANCE = 1.2  # phases are the parts of a call if their sum and its time differ by less than this factor


class NotMeasured(Exception):
    """A value has no measurement. The block of text around it vanishes; outside of blocks `words` replace the value.

    `needs` is what testing a claim then needs, instead of the claim's own `needs`.
    """

    def __init__(self, words=r"\nomeasurement{}", needs=None):
        super().__init__(words)
        self.words, self.needs = words, needs


def require_measured(value):
    """The value. Raises NotMeasured for None and for an empty list or frame."""
    if value is None or (hasattr(value, "__len__") and not len(value)):
        raise NotMeasured
    return value


def study_of_chapter(workload, study):
    """The ChapterStudy of a workload, made once for a study."""
    key = study_of_chapter, workload
    if key not in study.answers:
        study.answers[key] = ChapterStudy(workload, study)
    return study.answers[key]


def chapter_module(workload, name):
    """A module of a chapter, or None without one."""
    workloads.load(workload)
    full_name = f"ladder.workloads.{workload}.paper.{name}"
    return importlib.import_module(full_name) if importlib.util.find_spec(full_name) else None


def look_up(kind, name, values):
    """The value of a name. Raises LadderError for an unknown name, with the nearest one; `kind` is for its message."""
    if name not in values:
        raise LadderError(f"There is no {kind} {name!r}.{did_you_mean(name, values)}")
    return values[name]


class ChapterStudy:
    """A study with the data of a chapter's `lines.py`; `report/telling/lines.py` explains its terms."""

    def __init__(self, workload, study):
        data = chapter_module(workload, "lines")
        self.workload, self.study = workload, study
        self.lines, self.sources, self.unit = data.LINES, data.SOURCES, data.UNIT
        self.table = getattr(data, "TABLE", [list(data.LINES)])
        self.figure, self.panels = getattr(data, "FIGURE", list(data.LINES)), getattr(data, "PANELS", {})
        self.rungs = getattr(data, "RUNGS", getattr(workloads.load(workload), "RUNGS", {}))
        self.method_columns = methods.columns(workload)
        self.per_unit, self.outside = getattr(data, "per_unit", None), getattr(data, "OUTSIDE", {"phase": ()})
        self.part_of = getattr(data, "part_of", None)
        self.model = chapter_module(workload, "model")  # None in a chapter without a model
        self.needs = data.MACHINES
        self.machines = pick_machines(study, self.needs, self.sources)
        self.frames = {}

    def machine(self, role):
        """The study about the machine of a role; its `machine_name` is None if no machine has the role."""
        return look_up("machine", role, self.machines)

    def machine_of(self, selection):
        """The study about the machine of a selection's source."""
        return self.machine(look_up("source", self.source_of(selection), self.sources).role)

    def source_of(self, selection):
        """The name of the source of a selection: its own, or that of its line."""
        selection = as_selection(selection)
        return selection.source or self.line(selection).source

    def line(self, selection):
        """The line of a selection, with the selection's changes of the tuning."""
        selection = as_selection(selection)
        line = look_up("line", selection.line, self.lines)
        return replace(line, tuning=line.tuning | selection.tuning)

    def frame(self, name):
        """All timed calls of a source."""
        if name not in self.frames:
            source = look_up("source", name, self.sources)
            self.frames[name] = source.rows(self.machine(source.role))
        return self.frames[name]

    @cache_answers
    def find(self, selection):
        """The times of a selection, on the ladder in seconds of its unit; none if phases overlap, such as `a and b`."""
        selection = as_selection(selection)
        if selection.phases:
            phases = self.phases(selection, outside=False if selection.excludes_phases else None)
            if phases.empty or phases["phase"].str.contains(" and ").any():
                return queries.NO_ROWS
            return queries.pass_totals(phases[phases["phase"].isin(selection.phases) != selection.excludes_phases])
        calls = self.calls(selection)
        return queries.process_values(calls, selection.column) if selection.column else calls

    def calls(self, selection):
        """The timed calls of a selection, maybe none; those on the ladder in seconds of the ladder's unit."""
        return self.to_unit(selection, self.line(selection).rows(self.frame(self.source_of(selection))))

    def to_unit(self, selection, rows):
        """Rows of a selection; those on the ladder in seconds of the ladder's unit, such as an epoch."""
        is_on_ladder = self.per_unit and as_selection(selection).source is None and len(rows)
        return rows.assign(seconds=self.per_unit(rows)) if is_on_ladder else rows

    def rows(self, selection):
        """As `find`; raises NotMeasured without any row."""
        return require_measured(self.find(selection))

    @cache_answers
    def ratio(self, slower, faster):
        """The time of a selection over that of another, or with FLOOR over its own predicted time, as a Ratio."""
        if faster == FLOOR:
            return ratios.over_seconds(self.rows(slower), self.predicted_seconds(slower))
        return ratios.of(*map(self.rows, self.resolve_common(slower, faster)))

    def resolve_common(self, *selections):
        """The selections, COMMON replaced by the largest number at which all were measured; or raises NotMeasured."""
        sides = list(map(as_selection, selections))
        common = [{name for name, value in self.line(side).tuning.items() if value == COMMON} for side in sides]
        for name in set.intersection(*common):
            counts = [set(queries.values(self.frame(self.source_of(side)), name)) for side in sides]
            pairs = ([side.with_tuning(**{name: n}) for side in sides] for n in sorted(set.intersection(*counts))[::-1])
            sides = require_measured(next((pair for pair in pairs if all(len(self.find(side)) for side in pair)), None))
        return sides

    def predicted_seconds(self, selection):
        """The seconds that the model predicts for a selection; raises NotMeasured without a rate that it needs."""
        return require_measured(self.predict(selection, self.rows(selection)))

    def predict(self, selection, rows):
        """The predicted seconds for a selection's rows; None without rows, or without a rate that the model needs."""
        return self.model.predict(self.machine_of(selection), rows.iloc[0]) if self.model and len(rows) else None

    def phases(self, selection, outside=False):
        """The rows of the phases of a selection's calls; if `outside`, of those outside of calls; if None, of both."""
        return self.to_unit(selection, self.phases_of(self.machine_of(selection), self.calls(selection), outside))

    def phases_of(self, machine, rows, outside=False):
        """As `phases`, of the case of some rows on a machine."""
        if (calls := machine.of_case("samples", rows)).empty:
            return queries.NO_ROWS
        phases = calls[calls["phase"] != "total"]
        is_outside = phases.reindex(columns=[*self.outside]).isin(self.outside).all(axis=1)
        phases = phases if outside is None else phases[is_outside == outside]
        return phases.assign(phase=self.part_of(phases["phase"])) if self.part_of and len(phases) else phases

    def traces(self, experiment, selections, machines=None):
        """The first processes' traces, {"machine: title": rows}, of {title: selection}; by default on all machines."""
        traces = self.study.tables.get(experiment, {}).get("traces", queries.NO_ROWS)
        machines = queries.sort_machines(queries.values(traces, "machine")) if machines is None else machines
        first = {name: queries.rows_of_first_processes(queries.where(traces, machine=name)) for name in machines}
        lines = {title: self.line(selection) for title, selection in selections.items()}
        rows = {f"{name}: {title}": line.rows(first[name]) for name in machines for title, line in lines.items()}
        return {title: trace for title, trace in rows.items() if len(trace)}


def as_selection(selection):
    """A Selection; the key of a line is its short form."""
    return selection if isinstance(selection, Selection) else Selection(selection)


def phases_over_call(rows, phases):
    """The sum of all phases of a case over the time of its call; None without phases."""
    times = queries.phase_times(phases)
    return sum(times.values()) / queries.median_time(rows) if times else None


def phase_times_of_call(rows, phases):
    """{phase: seconds} if the phases add up to the call, within PHASES_TOLERANCE; else {}."""
    share = phases_over_call(rows, phases)
    return queries.phase_times(phases) if share and 1 / PHASES_TOLERANCE < share < PHASES_TOLERANCE else {}
