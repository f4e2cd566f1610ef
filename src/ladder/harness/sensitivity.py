"""Measure the sensitivity of the checks: inject errors into a correct result, and find the smallest one refused.

A case is run once, as a worker runs it before timing; a later round is run too if it has other checks. Errors are
injected one at a time into the arrays that a run has written: into one element, or into all elements of one row (one
index along the first axis) by the same relative amount. Bisection finds the smallest error that a check refuses. The
size of an error is the largest change of an element, after rounding, divided by the largest absolute value of the
array. The bounds of the checks are not used.
"""

from dataclasses import dataclass, replace

import numpy as np

from ladder import devices
from ladder.catalogue import datasets, literals, locations, traits, workloads
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem, worst_by_name
from ladder.records.case import Case

ELEMENT, ROW = "one element", "one row"
# The name for all checks together, which refuse a result if at least one does.
ANY = "any"
MAX_PLACES = 3  # per array and kind of fault: the first, the last, and a random one
# Powers of two: the largest errors, relative to the largest value. A check that refuses none of them is blind to the
# fault.
LARGE_EXPONENTS = range(0, -5, -1)
ZERO_EXPONENT = -1100  # two to this power is 0 in every dtype
HALVINGS = 7  # of the interval between two powers of two, so that errors are accurate to 1 %


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of one check to one kind of fault in one array.

    `share` is the error of the correct result as a share of the check's bound; NaN for a check that only wrong results
    have. The check refuses an error in `seen` of `places` places. `error` is the smallest refused error, the maximum
    over these places; None if it refuses none.
    """

    array: str
    fault: str
    check: str
    share: float
    places: int
    seen: int
    error: float | None


def cases(dtypes="all"):
    """The cases that workloads list as SENSITIVITY, (variant, tuning, sizes), for `all` dtypes or the `first`."""
    count = 1 if dtypes == "first" else None
    return [
        Case(name, variant, workloads.complete(name, sizes | {"dtype": dtype}), tuning)
        for name in workloads.names()
        for variant, tuning, sizes in literals.read(locations.problem_path(name)).get("SENSITIVITY", ())
        for dtype in workloads.load(name).SIZES["dtype"][:count]
    ]


def sensitivities(case, data, seed=1):
    """A list of the Sensitivity of every check to every kind of fault in every array that a run writes.

    `data` holds the paths of data sets by name; `seed` is that of the random places. Raises LadderError if the case
    isn't on the host, or if its result is wrong without an injected error.
    """
    merged = {}  # over rounds: {(array, fault, check): Sensitivity}
    result, evaluated_checks = Result(case, data), set()  # the names of checks
    for round in result.rounds():
        if round:
            result.solve(round)
        if evaluated_checks and not set(result.shares) - evaluated_checks:
            continue
        evaluated_checks |= set(result.shares)
        generator = np.random.default_rng(seed)
        for name, array in result.arrays.items():
            for kind in (ELEMENT, ROW)[: array.ndim]:
                for sensitivity in evaluate(result, name, kind, faults(result, array, kind, generator)):
                    key = sensitivity.array, sensitivity.fault, sensitivity.check
                    merged[key] = merge(merged[key], sensitivity) if key in merged else sensitivity
    return list(merged.values())


def merge(a, b):
    """The Sensitivity over two rounds: that with more refused places or, with as many, the smaller refused error."""
    best = min(a, b, key=lambda row: (-row.seen, np.inf if row.error is None else row.error))
    return replace(best, share=max(a.share, b.share))


def evaluate(result, array_name, kind, faults):
    """Yield the Sensitivity of every check to Faults of one kind in an array."""
    failed = {check for fault in faults for exponent in LARGE_EXPONENTS for check in fault.failed_checks(2.0**exponent)}
    for check in [*result.shares, *sorted(failed - set(result.shares))]:
        errors = [error for fault in faults if (error := smallest_error(fault, check)) is not None]
        share = result.shares.get(check, float("nan"))
        yield Sensitivity(array_name, kind, check, share, len(faults), len(errors), max(errors, default=None))


def faults(result, array, kind, generator):
    """Faults of one kind, in several places of an array."""
    shape = array.shape if kind == ELEMENT else array.shape[:1]
    last = int(np.prod(shape)) - 1
    inner = generator.permutation(np.arange(1, last))[: MAX_PLACES - 2]
    return [Fault(result, array, np.unravel_index(place, shape)) for place in np.unique([0, last, *inner])]


def smallest_error(fault, check):
    """The smallest error of a Fault that a check refuses, to two digits; None if it refuses none."""
    exponents = [exponent for exponent in LARGE_EXPONENTS if check in fault.failed_checks(2.0**exponent)]
    if not exponents:
        return None
    low, high = ZERO_EXPONENT, exponents[-1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if check in fault.failed_checks(2.0**middle) else (middle, high)
    low, high = 2.0**low, 2.0**high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if check in fault.failed_checks(middle) else (middle, high)
    return fault.error(high)


class Fault:
    """An error in one place of a correct result. Its amount is an argument of the methods, which restore the result."""

    def __init__(self, result, array, place):
        """`place` is the index of an element or, with fewer axes, of a row."""
        self.result, self.array, self.place = result, array, place
        self.value = np.array(array[place])
        self.largest = float(np.abs(array.astype(np.float64)).max()) or 1.0
        self.cache = {}

    def perturb(self, amount):
        """The wrong value: an element plus `amount` times the array's largest value, or a row times 1 + `amount`."""
        value = self.value.astype(np.float64)
        wrong = value + amount * (value if value.ndim else self.largest)
        return (np.rint(wrong) if self.value.dtype.kind in "iu" else wrong).astype(self.value.dtype)

    def error(self, amount):
        """The largest change of an element, divided by the largest value of the array."""
        change = np.abs(self.perturb(amount).astype(np.float64) - self.value)
        return float(change.max()) / self.largest

    def failed_checks(self, amount):
        """The names of the checks that refuse the result with this error; with ANY unless there are none."""
        if amount not in self.cache:
            self.array[self.place] = self.perturb(amount)
            names = {check.name for check in self.result.checks() if not check.passed}
            self.array[self.place] = self.value
            self.cache[amount] = names | {ANY} if names else names
        return self.cache[amount]


class Result:
    """A case's correct result in a round, and its checks.

    `arrays` holds the arrays that the run has written, by name: the outputs and the changed inputs. `shares` holds the
    error of each check as a share of its bound, and the largest of these for ANY.
    """

    def __init__(self, case, data):
        self.case, self.workload, device = case, workloads.load(case.workload), devices.of(case)
        if device is not devices.load("host"):
            raise LadderError(f"Errors can't be injected into {case.key}: its arrays aren't on the host.")
        variant, sizes = workloads.load_variant(case.workload, case.variant), case.sizes
        name = self.workload.data_set(sizes)
        self.data = datasets.load(self.workload, data[name]) if name else None
        reference_sizes = self.workload.reference_sizes(sizes)
        self.reference = (
            None if reference_sizes is None else self.workload.reference.compute(reference_sizes, self.data)
        )
        self.problem = make_problem(self.workload, case, device, variant)
        generated = self.workload.GENERATED
        self.inputs = {name: array for name, array in self.problem.inputs.items() if name not in generated}
        self.fill_inputs(0)
        self.steps = Steps.of_variant(variant, self.problem, case.tuning)
        self.solve(0)

    def rounds(self):
        """The rounds that can be solved independently; only the first if the workload has state."""
        return range(1 if self.workload.STATEFUL else self.workload.rounds(self.case.sizes))

    def fill_inputs(self, round):
        """Write the inputs of a round."""
        self.workload.fill(self.inputs, self.case.sizes, round, self.data)
        if self.workload.GENERATED:
            self.workload.generate(self.problem, round)

    def solve(self, round):
        """Solve a round's problem. Raises LadderError if the result is wrong."""
        self.round = round
        self.fill_inputs(round)
        chain_steps(self.steps.prepare)()
        before = {name: array.copy() for name, array in self.inputs.items() if self.workload.STATEFUL}
        validation.poison(self.problem.outputs)
        self.steps.timed()()
        validation.require_finite(self.problem.outputs, self.problem.output_kinds)
        changed = {name: self.inputs[name] for name in before if not np.array_equal(self.inputs[name], before[name])}
        self.arrays = self.problem.outputs | changed
        checks = self.checks()
        validation.require(checks, f"{self.case.key}, round {round + 1}")
        self.shares = {check.name: check.error / check.bound for check in worst_by_name(checks)}
        self.shares[ANY] = max(self.shares.values())

    def checks(self):
        """The Checks of the current result."""
        precision = traits.precision(self.case)
        arguments = self.case.sizes, self.inputs, self.problem.outputs, self.round, self.data, self.reference, precision
        return self.workload.check(*arguments)[0]
