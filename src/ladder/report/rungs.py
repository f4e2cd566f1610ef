"""The lines of a ladder's figure and table: variants at tunings that are fixed beforehand, so that none is picked."""

from dataclasses import dataclass

from ladder.catalogue import workloads
from ladder.report import study
from ladder.report.figures import formats

MOST = "most"  # of the threads, or ranks, that were measured


@dataclass(frozen=True)
class Line:
    """A variant of a workload at one tuning; `words` tell it from its neighbours of the same variant."""

    workload: str
    variant: str
    tuning: dict
    words: str = ""

    @property
    def is_peer(self):
        """Whether it stands beside the ladder."""
        return workloads.constants(self.workload, self.variant).get("PEER", False)

    def rows(self, frame):
        """Its rows among those of several variants, of all cases that differ in other tunings."""
        rows = study.where(frame, variant=self.variant)
        rows = study.where(rows, **{name: value for name, value in self.tuning.items() if value != MOST})
        for name in (name for name, value in self.tuning.items() if value == MOST):
            rows = study.where(rows, **{name: max(study.values(rows, name), default=None)})
        return rows

    def label(self, rows):
        """What the figure calls it."""
        words = self.words
        if self.tuning.get("threads") == MOST:
            words = formats.threads(int(rows["threads"].iloc[0]))
        return f"{self.variant}, {words}" if words else self.variant

    def holds(self, variant, tuning):
        """Whether this is a line of the variant at that tuning."""
        return self.variant == variant and tuning.items() <= self.tuning.items()


def measured(lines, frame):
    """[(Line, the rows of its first case)] of those that were measured, each case once."""
    found, seen = [], set()
    for line in lines:
        rows = study.one_case(line.rows(frame))
        case = tuple(rows[["variant", "case"]].iloc[0]) if len(rows) else None
        if case and case not in seen:
            seen.add(case)
            found.append((line, rows))
    return found
