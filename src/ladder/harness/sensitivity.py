"""How wrong would still pass: errors put on purpose into a right result, and the smallest that each check refuses.

A case is run once, as the worker runs it before it times anything, and so is a later round if it has checks of its own:
a variant must pass them all. Into what a run has written goes one error at a time: into one element, or into all
elements of one row, those of one index along the first axis, by the same relative amount. Bisection finds the smallest
one that is refused. An error is told as the largest change of an element, as the array holds it after rounding, over
the largest absolute value of the array. Nothing is known here of any bound.
"""

from dataclasses import dataclass, replace

import numpy as np

from ladder import devices
from ladder.catalogue import datasets, literals, workloads
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, in_order
from ladder.harness.worker import make_problem, worst
from ladder.records.case import Case

ELEMENT, ROW = "one element", "one row"
# Stands for a result's checks together: what one of them refuses.
ANY = "any"
# The first, the last, and one drawn at random.
PLACES = 3
# The largest errors tried, from the largest value on: a check that refuses none of them is blind to the fault.
LARGE = range(0, -5, -1)  # powers of two
NOTHING = -1100  # a power of two that is 0 in every type
HALVINGS = 7  # after the power of two: errors are then known to 1 %


@dataclass(frozen=True)
class Sensitivity:
    """What one check makes of one kind of fault in one array.

    `share` is the part of its bound that the right result uses, NaN of a check that a right result doesn't have; `seen`
    of `places` are those where it refuses some error, `error` the smallest in the worst of them, None where it's blind.
    """

    array: str
    fault: str
    check: str
    share: float
    places: int
    seen: int
    error: float | None


def cases(dtypes="all"):
    """The cases that workloads declare in SENSITIVITY, [(variant, tuning, sizes), ...], for all dtypes or the first."""
    count = 1 if dtypes == "first" else None
    return [
        Case(name, variant, workloads.complete(name, sizes | {"dtype": dtype}), tuning)
        for name in workloads.names()
        for variant, tuning, sizes in literals.read(workloads.problem_path(name)).get("SENSITIVITY", ())
        for dtype in workloads.load(name).SIZES["dtype"][:count]
    ]


def sensitivities(case, data, seed=1):
    """The Sensitivity of every check to every kind of fault in every array that a run writes: a list.

    `data` are the paths of data sets by name, `seed` draws the places. Raises LadderError for a case that isn't the
    host's, and where the result isn't right to begin with.
    """
    found, right, known = {}, Right(case, data), set()
    for round in right.rounds():
        if round:
            right.solve(round)
        if known and not set(right.shares) - known:
            continue
        known |= set(right.shares)
        generator = np.random.default_rng(seed)
        for name, array in right.written.items():
            for fault in (ELEMENT, ROW)[: array.ndim]:
                for one in judged(right, name, fault, faults(right, array, fault, generator)):
                    key = one.array, one.fault, one.check
                    found[key] = either(found[key], one) if key in found else one
    return list(found.values())


def either(one, other):
    """What is refused in one round or in another, of the same check and fault: the smaller error counts."""
    first = min(one, other, key=lambda each: (-each.seen, np.inf if each.error is None else each.error))
    return replace(first, share=max(one.share, other.share))


def judged(right, name, fault, tried):
    """The Sensitivity of every check to some Faults of one kind, one after the other."""
    seen = {check for one in tried for power in LARGE for check in one.refusing(2.0**power)}
    for check in [*right.shares, *sorted(seen - set(right.shares))]:
        found = [error for one in tried if (error := smallest(one, check)) is not None]
        share = right.shares.get(check, float("nan"))
        yield Sensitivity(name, fault, check, share, len(tried), len(found), max(found, default=None))


def faults(right, array, fault, generator):
    """Faults of one kind, in several places of an array."""
    shape = array.shape if fault == ELEMENT else array.shape[:1]
    last = int(np.prod(shape)) - 1
    drawn = generator.permutation(np.arange(1, last))[: PLACES - 2]
    return [Fault(right, array, np.unravel_index(place, shape)) for place in np.unique([0, last, *drawn])]


def smallest(fault, check):
    """The smallest error, to two digits, of a Fault that a check refuses; None where it refuses none."""
    refused = [power for power in LARGE if check in fault.refusing(2.0**power)]
    if not refused:
        return None
    low, high = NOTHING, refused[-1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if check in fault.refusing(2.0**middle) else (middle, high)
    low, high = 2.0**low, 2.0**high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if check in fault.refusing(middle) else (middle, high)
    return fault.error(high)


class Fault:
    """An error in one place of a right result, of any amount; the result is right again after every question."""

    def __init__(self, right, array, place):
        """`place` is the index of an element or, shorter, of a row."""
        self.right, self.array, self.place = right, array, place
        self.value = np.array(array[place])
        self.largest = float(np.abs(array.astype(np.float64)).max()) or 1.0
        self.known = {}

    def wrong(self, amount):
        """What stands there by mistake: an element off by so much of the largest value, a row off by so much of its."""
        value = self.value.astype(np.float64)
        off = value + amount * (value if value.ndim else self.largest)
        return (np.rint(off) if self.value.dtype.kind in "iu" else off).astype(self.value.dtype)

    def error(self, amount):
        """The largest change of an element, over the largest value."""
        change = np.abs(self.wrong(amount).astype(np.float64) - self.value)
        return float(change.max()) / self.largest

    def refusing(self, amount):
        """The names of the checks that refuse the result with this error, and ANY if there are some."""
        if amount not in self.known:
            self.array[self.place] = self.wrong(amount)
            names = {check.name for check in self.right.checks() if not check.passed}
            self.array[self.place] = self.value
            self.known[amount] = names | {ANY} if names else names
        return self.known[amount]


class Right:
    """A case's right result in a round, and how that is judged.

    `written` are the arrays that the run has written, by name: the outputs, and the inputs that it has changed.
    `shares` says what part of its bound each check uses, the largest of them for ANY.
    """

    def __init__(self, case, data):
        self.case, self.workload, device = case, workloads.load(case.workload), devices.of(case)
        if device is not devices.load("host"):
            raise LadderError(f"{case.key} can't be made wrong on purpose: its arrays aren't the host's.")
        variant, sizes = workloads.load_variant(case.workload, case.variant), case.sizes
        name = self.workload.data_set(sizes)
        self.data = datasets.load(self.workload, data[name]) if name else None
        due = self.workload.reference_sizes(sizes)
        self.reference = None if due is None else self.workload.reference.compute(due, self.data)
        self.problem = make_problem(self.workload, case, device, variant)
        self.generated = getattr(self.workload, "GENERATED", ())
        self.given = {name: array for name, array in self.problem.inputs.items() if name not in self.generated}
        self.begin(0)
        self.steps = Steps.of(variant.setup(self.problem, **case.tuning))
        self.solve(0)

    def rounds(self):
        """The rounds that can be solved by themselves: of a workload with state the first."""
        return range(1 if self.workload.STATEFUL else self.workload.rounds(self.case.sizes))

    def begin(self, round):
        """Write the inputs of a round."""
        self.workload.fill(self.given, self.case.sizes, round, self.data)
        if self.generated:
            self.workload.generate(self.problem, round)

    def solve(self, round):
        """Solve a round's problem. Raises LadderError where the result isn't right."""
        self.round = round
        self.begin(round)
        in_order(self.steps.prepare)()
        before = {name: array.copy() for name, array in self.given.items() if self.workload.STATEFUL}
        validation.poison(self.problem.outputs)
        self.steps.timed()()
        validation.require_finite(self.problem.outputs, self.problem.output_kinds)
        changed = {name: self.given[name] for name in before if not np.array_equal(self.given[name], before[name])}
        self.written = self.problem.outputs | changed
        found = self.checks()
        validation.require(found, f"{self.case.key}, round {round + 1}")
        self.shares = {check.name: check.error / check.bound for check in worst(found)}
        self.shares[ANY] = max(self.shares.values())

    def checks(self):
        """The Checks of the result as it is now."""
        precision = workloads.precision(self.case)
        arguments = self.case.sizes, self.given, self.problem.outputs, self.round, self.data, self.reference, precision
        return self.workload.check(*arguments)[0]
