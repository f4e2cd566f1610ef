"""What the chapter asks of a study: whose measurements, which cases, and the times of their macro blocks."""

from dataclasses import dataclass
from functools import cached_property

from ladder.report import collect, ratios, study

BEFORE, LADDER, CARD = "backprop_before", "backprop_ladder", "backprop_gpu"
FLAGS = ("backprop_flags", "backprop_flags_before")
VARIED = ("backprop_openmp", "backprop_kernels")
LEARNING, READING = "backprop_learning", "backprop_reading"
# Of the claims: the network of the earlier study with all images of MNIST.
SIZE = {"layers": "784-56-28-10", "images": 60000, "dtype": "float32"}
# The macro blocks by the word that is in the name of a phase.
BLOCKS = {
    "gather": "gather",
    "products": "products",
    "activations": "activations",
    "error": "error",
    "deltas": "deltas",
    "patterns": "several at once",
    "change": "weight change",
    "update": "update",
}
OTHER = "other"
OUTSIDE = ("to device", "to host", "flatten", "constants")  # phases that are no part of an epoch
NEAR = 1.2  # times a call, or the other way: what phases may add up to and still be its parts


@dataclass(frozen=True)
class Machine:
    """The study about one machine, with the frames that the chapter asks for, each made once."""

    found: study.Study

    @cached_property
    def ladder(self):
        """The epochs of the ladder, on host and card, at the full size."""
        return self.joined((BEFORE, LADDER, CARD), **SIZE)

    @cached_property
    def phases(self):
        """Their phases."""
        rows = [self.found.rows("samples", one, **SIZE) for one in (BEFORE, LADDER, CARD)]
        return parts(collect.concatenated(rows))

    @cached_property
    def flags(self):
        """The loops by flags, of the size with most images."""
        rows = self.joined(FLAGS)
        return study.where(rows, images=max(study.values(rows, "images"), default=None))

    @cached_property
    def varied(self):
        """The epochs in which one tuning is changed at a time."""
        return self.joined(VARIED)

    @cached_property
    def reading(self):
        """The reading of all images, from a file that the system keeps in memory."""
        return self.found.samples(READING, images=SIZE["images"], dtype=SIZE["dtype"])

    def joined(self, experiments, **conditions):
        """The timed calls of several experiments, those of a case that several have once."""
        rows = collect.concatenated([self.found.samples(one, **conditions) for one in experiments])
        return rows.drop_duplicates(["variant", "case", "process", "sample"]) if len(rows) else rows


def chosen(found):
    """The host and the card of the chapter, by `study.host_and_card`.

    Toy sizes decide nothing: without the full size it is about none.
    """
    there = [found.of(name) for name in found.machines()]
    hosts = [one for one in there if len(one.samples(BEFORE, **SIZE))]
    hosts = hosts or [one for one in there if len(one.samples(LADDER, **SIZE, device="host"))]
    cards = [one for one in there if len(one.samples(CARD, **SIZE, device="cuda"))]
    return study.host_and_card(*([*map(Machine, some)] for some in (hosts, cards)), Machine(found.of(None)))


def parts(rows):
    """The phases of epochs among some rows, with the macro block of each in the column `block`."""
    if rows.empty:
        return rows
    rows = rows[~rows["phase"].isin(("total", *OUTSIDE))]
    return rows.assign(block=rows["phase"].map(block_of))


def block_of(phase):
    """The macro block of a phase."""
    return next((block for word, block in BLOCKS.items() if word in phase), OTHER)


def blocks(rows, phases):
    """The median seconds of each macro block of a case, {block: seconds}; none where they don't add up to the call."""
    own = study.own_phases(rows, phases)
    if own.empty:
        return {}
    times = own.groupby(["process", "sample", "block"])["seconds"].sum().groupby("block").median()
    times = {block: times[block] for block in (*BLOCKS.values(), OTHER) if block in times}
    return times if 1 / NEAR < sum(times.values()) / study.middle(rows) < NEAR else {}


def over_the_rest(rows, phases, block):
    """The time of a macro block over that of all others of a case, as a ratio; None where there is no such block."""
    own = study.own_phases(rows, phases)
    if own.empty:
        return None
    inside = own["block"] == block
    return ratios.of_parts(own[inside], own[~inside])
