"""A trial of a user's workload when it is planned: its functions are called, and what they return is checked.

Otherwise a mistake would be found in a job, as if it were the variant's. The sizes are those of the case if its arrays
are small, else small ones. Inputs that come from data or are generated on a device aren't written.
"""

import math
from numbers import Integral, Real

import numpy as np

from ladder.catalogue import blame, contracts, forms, workloads
from ladder.errors import LadderError

SMALL = 3  # each required size of a trial whose own arrays are large
MAX_BYTES = 2**20
# The attributes of a problem that no array may be called.
RESERVED = ("sizes", "device", "inputs", "outputs", "output_kinds")


def require(workload, sizes):
    """Refuse a workload of the user's whose functions break the contract for complete `sizes`. Raises LadderError."""
    if not workloads.problem_path(workload).is_relative_to(workloads.HOME):  # the tests check the project's own
        check(workload, sizes)


def check(workload, sizes):
    """Call the functions of a workload for complete `sizes` and check what they return. Raises LadderError."""
    trial = Trial(workloads.load(workload), workloads.problem_path(workload))
    kinds = trial.kinds(sizes)
    trial.require_cost(sizes)
    if trial.module.data_set(sizes) is not None:
        return
    if bytes_of(kinds) <= MAX_BYTES:
        trial.require_rounds(sizes)
    elif small := small_sizes(workload, sizes):
        try:
            trial.require_rounds(small)
        except LadderError as error:
            values = ", ".join(f"{name}={value}" for name, value in small.items())
            raise LadderError(
                f"{error} The sizes were {values}: if no case can have them, let `refuse` say so."
            ) from None


def small_sizes(workload, sizes):
    """The sizes with SMALL for each required one; None if the workload refuses them."""
    required = [name for name, kind in workloads.load(workload).SIZES.items() if isinstance(kind, type)]
    try:
        return workloads.small_sizes(workload, {name: sizes[name] for name in sizes if name not in required}, SMALL)
    except LadderError:
        return None


def bytes_of(kinds):
    """The bytes of all arrays of `kinds`, the result of `arrays`."""
    every_kind = [kind for part in kinds for kind in part.values()]
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in every_kind)


class Trial:
    """The functions of a workload's `module`, whose file is `path`, called with sizes."""

    def __init__(self, module, path):
        self.module, self.path = module, path

    def refuse(self, name, reason):
        """Raise LadderError: the function or constant `name` breaks the contract for a reason."""
        entry = contracts.WORKLOAD.names[name]
        line = blame.line_of_function(getattr(self.module, name)) or contracts.definitions(self.path)[name].lineno
        what = contracts.signature(name, entry)
        raise LadderError(f"{what} in line {line} of {self.path} {reason}. See docs/contracts.md.")

    def kinds(self, sizes):
        """The checked result of `arrays`: inputs and outputs, {name: (shape, dtype)}."""
        result = self.module.arrays(dict(sizes))
        if not isinstance(result, tuple) or len(result) != 2 or not all(isinstance(part, dict) for part in result):
            self.refuse("arrays", f"returns {brief(result)}: it must return a pair of mappings, inputs and outputs")
        inputs, outputs = result
        for name, kind in [*inputs.items(), *outputs.items()]:
            self.require_kind(name, kind)
        if clashes := sorted({*inputs} & {*outputs} | {*RESERVED} & {*inputs, *outputs}):
            self.refuse("arrays", f"calls an array {clashes[0]!r}: every array needs a name of its own")
        names = getattr(self.module, "ARRAYS", [*inputs, *outputs])
        if unknown := [name for name in [*inputs, *outputs] if name not in names]:
            self.refuse("ARRAYS", f"lacks {unknown[0]!r}, an array of `arrays`: variants couldn't use it")
        for name in ("FACTS", "GENERATED"):
            where, known = ("outputs", outputs) if name == "FACTS" else ("inputs", inputs)
            if unknown := [other for other in getattr(self.module, name) if other not in known]:
                self.refuse(name, f"names {unknown[0]!r}, which is not among the {where} of `arrays`")
        if self.module.GENERATED and not hasattr(self.module, "generate"):
            self.refuse("GENERATED", "is given, but there is no function `generate(problem, round)`")
        return inputs, outputs

    def require_kind(self, name, kind):
        """Check the shape and the dtype of one array."""
        if not isinstance(kind, tuple) or len(kind) != 2:
            self.refuse("arrays", f"returns {brief(kind)} for {name!r}: it must return `(shape, dtype)`")
        shape, dtype = kind
        if not isinstance(shape, tuple) or not all(is_count(length) for length in shape):
            self.refuse("arrays", f"returns the shape {shape!r} for {name!r}: it must be a tuple of whole numbers")
        try:
            np.dtype(dtype)
        except TypeError:
            self.refuse("arrays", f"returns the dtype {dtype!r} for {name!r}, which NumPy doesn't know")
        if np.dtype(dtype).kind not in "fiu":
            self.refuse("arrays", f"returns the dtype {dtype!r} for {name!r}: it must be one of real or whole numbers")

    def require_cost(self, sizes):
        """Check the result of `cost`."""
        facts = [dict.fromkeys(self.module.FACTS, 1)] if self.module.FACTS else []
        cost = self.module.cost(dict(sizes), *facts)
        for name in ("flops", "bytes", "precision"):
            if not hasattr(cost, name) or not hasattr(cost, "__dict__"):
                self.refuse(
                    "cost",
                    f"returns {brief(cost)}: it must return a `SimpleNamespace` with `flops`, `bytes` and `precision`",
                )
        for name in ("flops", "bytes"):
            if not is_number(value := getattr(cost, name)) or not 0 <= value < math.inf:
                self.refuse("cost", f"returns {brief(value)} as `{name}`: it must be a number of at least 0")
        if not isinstance(cost.precision, str):
            self.refuse("cost", f"returns {brief(cost.precision)} as `precision`: it must be a text, such as the dtype")

    def require_rounds(self, sizes):
        """Check `rounds`, what `fill` writes in two of them, and the result of `expected`."""
        count = self.module.rounds(dict(sizes))
        if not is_count(count) or count < 1:
            self.refuse("rounds", f"returns {brief(count)}: it must return a whole number of at least 1")
        kinds, outputs = self.kinds(sizes)
        rounds = [self.filled(sizes, kinds, number) for number in range(min(count, 2))]
        first, last = rounds[0], rounds[-1]
        if len(rounds) > 1 and first and all(np.array_equal(first[name], last[name]) for name in first):
            self.refuse(
                "fill",
                'writes the same inputs in every round: seed the generator with `[sizes["seed"], round]`, so that a '
                "variant that returns an earlier result is detected",
            )
        if hasattr(self.module, "expected") and self.module.reference_sizes(dict(sizes)) is None:
            self.require_expected(sizes, rounds[0], outputs)

    def filled(self, sizes, kinds, round):
        """The checked inputs of a round."""
        inputs = {name: np.zeros(*kind) for name, kind in kinds.items() if name not in self.module.GENERATED}
        for array in inputs.values():
            array[...] = np.nan if array.dtype.kind == "f" else 0
        arrays = dict(inputs)
        names = self.module.fill(inputs, dict(sizes), round, None)
        if any(inputs.get(name) is not array for name, array in arrays.items()) or len(inputs) > len(arrays):
            self.refuse("fill", 'replaces an array of `inputs`: write into it, as in `inputs["x"][...] = values`')
        if not forms.is_texts(names):
            self.refuse("fill", f"returns {brief(names)}: it must return the names of the inputs that it has written")
        if unknown := [name for name in names if name not in inputs]:
            self.refuse("fill", f"returns the name {unknown[0]!r}, which is not among the inputs of `arrays`")
        for name, array in inputs.items():
            if round == 0 and name not in names:
                self.refuse("fill", f"doesn't return the name of the input {name!r} in round 0, so it isn't written")
            if round == 0 and array.dtype.kind == "f" and not np.isfinite(array).all():
                self.refuse("fill", f"leaves elements of the input {name!r} unwritten, or writes NaN or infinity")
        return inputs

    def require_expected(self, sizes, inputs, outputs):
        """Check the result of `expected` for these inputs and kinds of outputs."""
        if self.module.GENERATED:
            return
        copies = {name: array.copy() for name, array in inputs.items()}
        result = self.module.expected(dict(sizes), inputs, sizes["dtype"])
        if changed := [name for name, array in copies.items() if not np.array_equal(array, inputs[name])]:
            self.refuse("expected", f"changes the input {changed[0]!r}: it must leave its arguments as they are")
        if not isinstance(result, dict):
            self.refuse("expected", f"returns {brief(result)}: it must return `{{output: (array, bound)}}`")
        for name in (name for name in outputs if name not in result):
            self.refuse("expected", f"lacks the output {name!r}: it must return every output of `arrays`")
        for name in (name for name in result if name not in outputs):
            self.refuse("expected", f"returns {name!r}, which is no output of `arrays`")
        for name, (shape, _) in outputs.items():
            self.require_pair(name, result[name], tuple(shape))

    def require_pair(self, name, pair, shape):
        """Check the expected array of an output, and the bound of its error."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            self.refuse("expected", f"returns {brief(pair)} for {name!r}: it must return `(array, bound)`")
        array, bound = map(np.asarray, pair)
        if array.shape != shape:
            self.refuse("expected", f"returns an array of the shape {array.shape} for {name!r}, which has {shape}")
        if array.dtype.kind not in "fiu" or (array.dtype.kind == "f" and array.dtype.itemsize < 8):
            self.refuse("expected", f"returns an array of {array.dtype} for {name!r}: compute it in float64")
        if bound.shape not in ((), shape) or bound.dtype.kind not in "fiu":
            self.refuse(
                "expected",
                f"returns a bound of {brief(pair[1])} for {name!r}: it must be a number or an array of {shape}",
            )
        if not np.isfinite(array).all() or not np.isfinite(bound).all() or (bound < 0).any():
            self.refuse("expected", f"returns NaN, infinity or a negative bound for {name!r}")


def is_count(value):
    """Whether a value is a whole number of at least 0."""
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= 0


def is_number(value):
    """Whether a value is a number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def brief(value):
    """A value for a message: an array by its shape, another one by its text, or by its type if that is long."""
    if isinstance(value, np.ndarray):
        return f"an array of the shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
