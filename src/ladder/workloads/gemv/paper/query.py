"""What the chapter asks of a study: whose measurements, of which matrices, and the phases of a product."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ladder.report import collect, ratios, study

THREADS, RANKS, CARD, CARDS, LARGE, LARGER = EXPERIMENTS = (
    "gemv_threads",
    "gemv_mpi",
    "gemv_gpu",
    "gemv_cards",
    "gemv_cards_large",
    "gemv_cards_larger",
)
ON_CARDS = CARDS, LARGE, LARGER  # a card for each rank
# Of the claims: in float64, matrices far larger than any cache.
DTYPE = "float64"
SIZES = {
    THREADS: {"n": 8192, "m": 16384},
    RANKS: {"n": 32768, "m": 8192},
    CARD: {"n": 16384, "m": 32768},
    CARDS: {"n": 32768, "m": 8192},
    LARGE: {"n": 65536, "m": 32768},
    LARGER: {"n": 131072, "m": 32768},
}
SMALL, LONG = {"n": 1000, "m": 784}, {"n": 100, "m": 1000000}  # further matrices of the experiment CARD
GIGABYTE = 1e9
ONCE = {"resident": "scatter"}  # the phase that is no part of a product in this mode
PHASES = ("scatter", "broadcast", COMPUTE := "compute", "gather")
NEAR = 1.2  # times a call, or the other way: what phases may add up to and still be its parts


@dataclass(frozen=True)
class Machine:
    """The study about one machine, with the frames that the chapter asks for, each made once."""

    found: study.Study

    def calls(self, experiment, **sizes):
        """The timed calls of an experiment on a matrix, that of the claims unless another is given."""
        return self.found.samples(experiment, dtype=DTYPE, **(sizes or SIZES[experiment]))

    @cached_property
    def threads(self):
        """On threads that share the memory."""
        return self.calls(THREADS)

    @cached_property
    def ranks(self):
        """On ranks of the host, and on threads with the same matrix."""
        return self.calls(RANKS)

    @cached_property
    def card(self):
        """On one card."""
        return self.calls(CARD)

    @cached_property
    def cards(self):
        """On ranks with a card each, the matrix of the ranks of the host."""
        return self.calls(CARDS)

    @cached_property
    def large(self):
        """On ranks with a card each that keep gigabytes of the matrix."""
        return self.calls(LARGE)

    @cached_property
    def larger(self):
        """The same of a matrix twice as large."""
        return self.calls(LARGER)

    @cached_property
    def ladder(self):
        """The calls of all rungs with the seconds of a gigabyte; what cards keep is of the matrix of LARGE."""
        parts = (self.threads, study.where(self.ranks, device="mpi"), self.card)
        return of_a_gigabyte(collect.concatenated([*parts, study.where(self.cards, mode="ship"), self.large]))

    @cached_property
    def phases(self):
        """The phases of products on ranks, of all matrices."""
        rows = collect.concatenated([self.found.rows("samples", one, dtype=DTYPE) for one in (RANKS, *ON_CARDS)])
        return rows[rows["phase"] != "total"] if len(rows) else rows

    @property
    def has_one_memory(self):
        """Whether its description shows one memory node, so that no memory is far."""
        return self.found.descriptions.get(self.found.subject, {}).get("cpu", {}).get("NUMA node(s)") == "1"

    @property
    def most_cards(self):
        """The most ranks that had a card each at the matrix of LARGE; 0 without one."""
        return max(study.values(self.large, "ranks"), default=0)


class Chosen(NamedTuple):
    """The machines of the chapter: its host, its card, its cards, and the one with most cards."""

    host: Machine
    card: Machine
    cards: Machine
    widest: Machine


def chosen(found):
    """One machine for host, card and cards if any has them at full size, host and card before cards.

    What it lacks is of the first machine that has it. Toy sizes decide nothing: without full sizes it is about none.
    """
    nobody = Machine(found.of(None))
    there = [Machine(found.of(name)) for name in found.machines()]
    having = [[one for one in there if is_there(one)] for is_there in (has_host, has_card, has_cards)]
    names = [{one.found.subject for one in some} for some in having]

    def rank(machine):
        has = [machine.found.subject in some for some in names]
        return all(has[:2]), not machine.found.subject.endswith(study.PUBLISHED), sum(has)

    best = max(there, key=rank, default=nobody)
    parts = (
        best if best.found.subject in own else next(iter(some), nobody) for some, own in zip(having, names, strict=True)
    )
    several = [one for one in there if one.most_cards > 1]
    return Chosen(*parts, max(several, key=lambda one: one.most_cards, default=nobody))


def has_host(machine):
    """Whether threads have multiplied the full matrix."""
    return len(machine.threads) > 0


def has_card(machine):
    """Whether a card has, by its first rung and the best one, so that the ladder isn't a part of one."""
    return {"cuda_naive", "cublas"} <= set(study.values(machine.card, "variant"))


def has_cards(machine):
    """Whether several cards have, to which the matrix was sent."""
    return max(study.values(study.where(machine.cards, mode="ship"), "ranks"), default=0) > 1


def of_a_gigabyte(rows):
    """Timed calls with the seconds of a gigabyte of their matrix."""
    return rows.assign(seconds=rows["seconds"] / rows["bytes"] * GIGABYTE) if len(rows) else rows


def sending(rows, phases):
    """The phase in which a matrix that stays was sent, before the first product."""
    own = study.own_phases(rows, phases)
    return study.where(own, phase=ONCE.get(rows["mode"].iloc[0])) if len(own) else own


def of_products(rows, phases):
    """The phases of every product of a case."""
    own = study.own_phases(rows, phases)
    return own[own["phase"] != ONCE.get(rows["mode"].iloc[0])] if len(own) else own


def times(rows, phases):
    """Seconds of every phase of a case's product, {phase: seconds}, in the order of the phases."""
    own = of_products(rows, phases)
    return {name: study.middle(study.where(own, phase=name)) for name in own["phase"].unique()} if len(own) else {}


def together(rows, phases):
    """What all phases of a case's product take, over the call; None without phases."""
    found = times(rows, phases)
    return sum(found.values()) / study.middle(rows) if found else None


def parts(rows, phases):
    """Seconds of every phase where they add up to the call; {} where they don't: then they are no parts of it."""
    share = together(rows, phases)
    return times(rows, phases) if share and 1 / NEAR < share < NEAR else {}


def communication(rows, phases):
    """The time of all phases but the computation over that of the computation.

    None where one of them wasn't timed or both went on at once.
    """
    own = of_products(rows, phases)
    if own.empty or own["phase"].str.contains(" and ").any():
        return None
    is_computed = own["phase"] == COMPUTE
    return ratios.of_parts(own[~is_computed], own[is_computed])
