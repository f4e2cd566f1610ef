"""A trial of a user's workload, before it is planned or measured: its functions are called, their results checked.

Otherwise a mistake would be found in a worker, as if it were the variant's. The sizes are those of the case if its
arrays are small, else small ones. Inputs that come from data or are generated on a device aren't written.
"""

import functools
import inspect
import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from ladder.catalogue import workloads, wrong_results
from ladder.catalogue.declarations import Declarations, is_count, short_text
from ladder.errors import LadderError, pluralize

# A trial has the sizes of the case if its arrays have at most MAX_BYTES; otherwise the smallest required size is
# SMALL_SIZE. If that trial fails, it is repeated with SECOND_SMALL_SIZE, to see whether the size is the reason.
MAX_BYTES = 2**20
SMALL_SIZE, SECOND_SMALL_SIZE = 3, 8


def require_valid(workload: str, sizes: Mapping[str, Any]) -> None:
    """Refuse a workload of the user's whose functions break the contract for complete `sizes`. Raises LadderError."""
    if workloads.is_user_workload(workload):
        check_once(workloads.load(workload), workload, tuple(sizes.items()))


@functools.cache
def check_once(module: ModuleType, workload: str, sizes: tuple[tuple[str, Any], ...]) -> None:
    """`check`, once for many cases of the same sizes; the `module` tells a workload that was imported again."""
    check(workload, dict(sizes))


def check(workload: str, sizes: Mapping[str, Any]) -> None:
    """Call the functions of a workload for complete `sizes` and check what they return. Raises LadderError."""
    trial = Trial(workloads.load(workload), workloads.workload_path(workload))
    kinds = trial.kinds(sizes)
    trial.require_cost(sizes)
    if trial.module.data_set(sizes) is not None:
        return
    if bytes_of(kinds) <= MAX_BYTES:
        trial.require_rounds(sizes)
    elif small := small_sizes(workload, sizes, SMALL_SIZE):
        try:
            trial.require_rounds(small)
        except LadderError as error:
            others = [small_sizes(workload, sizes, SECOND_SMALL_SIZE), tied_sizes(workload, sizes, SMALL_SIZE)]
            if not any(passes(trial, other) for other in others):
                raise
            values = ", ".join(f"{name}={value}" for name, value in small.items())
            raise LadderError(
                f"{error} The sizes were {values}: if no case can have them, let `refuse` say so."
            ) from None


def passes(trial: "Trial", sizes: Mapping[str, Any] | None) -> bool:
    """Whether a trial passes with sizes; not if there are none."""
    if sizes is None:
        return False
    try:
        trial.require_rounds(sizes)
    except LadderError:
        return False
    return True


def small_sizes(workload: str, sizes: Mapping[str, Any], smallest: int) -> dict[str, Any] | None:
    """The sizes with small ones in place of the required ones; None if the workload refuses them.

    They are numbers from `smallest` on, in the order of the sizes that they replace. All differ, so that swapped
    shapes show, unless the workload refuses that.
    """
    required = required_sizes(workload, sizes)
    ranks = {name: rank for rank, name in enumerate(sorted(required, key=required.__getitem__))}
    return complete_by_rank(workload, sizes, ranks, smallest) or tied_sizes(workload, sizes, smallest)


def tied_sizes(workload: str, sizes: Mapping[str, Any], smallest: int) -> dict[str, Any] | None:
    """As `small_sizes`, but sizes that are equal stay equal."""
    required = required_sizes(workload, sizes)
    values = sorted({*required.values()})
    ranks = {name: values.index(value) for name, value in required.items()}
    return complete_by_rank(workload, sizes, ranks, smallest)


def required_sizes(workload: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes that have no default."""
    return {name: sizes[name] for name, kind in workloads.load(workload).SIZES.items() if isinstance(kind, type)}


def complete_by_rank(
    workload: str, sizes: Mapping[str, Any], ranks: Mapping[str, int], smallest: int
) -> dict[str, Any] | None:
    """The sizes with `smallest` plus its rank in place of each ranked one; None if the workload refuses them."""
    kinds = workloads.load(workload).SIZES
    try:
        return workloads.complete(workload, {**sizes, **{name: kinds[name](smallest + ranks[name]) for name in ranks}})
    except LadderError:
        return None


def bytes_of(kinds: tuple[dict[str, Any], dict[str, Any]]) -> int:
    """The bytes of all arrays of `kinds`, the result of `arrays`."""
    pairs = [pair for part in kinds for pair in part.values()]
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in pairs)


class Trial(Declarations):
    """The functions of a workload, called in rounds with sizes."""

    def require_rounds(self, sizes: Mapping[str, Any]) -> None:
        """Check `rounds`, what `fill` writes in two of them, and the results of `expected` and `check`."""
        count = self.module.rounds(dict(sizes))
        if not is_count(count) or count < 1:
            self.refuse("rounds", f"returns {short_text(count)}: it must return a whole number of at least 1")
        kinds, outputs = self.kinds(sizes)
        rounds = [self.filled_inputs(sizes, kinds, number) for number in range(min(count, 2))]
        first, last = rounds[0], rounds[-1]
        if len(rounds) > 1 and first and all(np.array_equal(first[name], last[name]) for name in first):
            self.refuse(
                "fill",
                'writes the same inputs in every round: seed the generator with `[sizes["seed"], round]`, so that a '
                "variant that returns an earlier result is detected",
            )
        if not all(np.array_equal(first[name], array) for name, array in self.filled_inputs(sizes, kinds, 0).items()):
            self.refuse(
                "fill",
                "writes other inputs when it is called again for the same round: seed the generator with "
                '`[sizes["seed"], round]`, so that every process times the same inputs',
            )
        if self.module.reference_sizes(dict(sizes)) is not None or self.module.GENERATED:
            return
        if hasattr(self.module, "expected"):
            self.require_expected(sizes, first, outputs)
        if inspect.isfunction(self.module.check):  # the default is a `partial`
            self.require_check(sizes, first, outputs)

    def filled_inputs(self, sizes: Mapping[str, Any], kinds: Mapping[str, Any], round: int) -> dict[str, np.ndarray]:
        """The checked inputs of a round."""
        inputs = {
            name: np.zeros(shape, dtype) for name, (shape, dtype) in kinds.items() if name not in self.module.GENERATED
        }
        for array in inputs.values():
            array[...] = np.nan if array.dtype.kind == "f" else 0
        arrays = dict(inputs)
        names = self.module.fill(inputs, dict(sizes), round, None)
        if any(inputs.get(name) is not array for name, array in arrays.items()) or len(inputs) > len(arrays):
            self.refuse("fill", 'replaces an array of `inputs`: write into it, as in `inputs["x"][...] = values`')
        self.require_filled_names(names, inputs)
        for name, array in inputs.items():
            if round == 0 and name not in names:
                self.refuse("fill", f"doesn't return the name of the input {name!r} in round 0, so it isn't written")
            if round == 0 and array.dtype.kind == "f" and not np.isfinite(array).all():
                self.refuse("fill", f"leaves elements of the input {name!r} unwritten, or writes NaN or infinity")
        return inputs

    def require_check(
        self, sizes: Mapping[str, Any], inputs: Mapping[str, np.ndarray], outputs: Mapping[str, Any]
    ) -> None:
        """Check what `check` returns for two results, of which it must refuse at least one."""
        magnitude = wrong_results.largest_magnitude(inputs)
        for arrays in wrong_results.constant_results(outputs, magnitude):
            result = self.module.check(dict(sizes), inputs, arrays, 0, None, None, sizes["dtype"])
            self.require_checks(result, 0)
            if not all(item.passed for item in result[0]):
                return
        self.refuse(
            "check",
            f"accepts outputs of zeros, and also outputs of {magnitude:.3g} in every element: at most one can be "
            f"right. {wrong_results.ADVICE}",
        )

    def require_expected(
        self, sizes: Mapping[str, Any], inputs: Mapping[str, np.ndarray], outputs: Mapping[str, Any]
    ) -> None:
        """Check the result of `expected` for these inputs and kinds of outputs."""
        copies = {name: array.copy() for name, array in inputs.items()}
        result = self.module.expected(dict(sizes), inputs, sizes["dtype"])
        if changed := [name for name, array in copies.items() if not np.array_equal(array, inputs[name])]:
            self.refuse("expected", f"changes the input {changed[0]!r}: it must leave its arguments as they are")
        if not isinstance(result, dict):
            self.refuse("expected", f"returns {short_text(result)}: it must return `{{output: (array, bound)}}`")
        for name in (name for name in outputs if name not in result):
            self.refuse("expected", f"lacks the output {name!r}: it must return every output of `arrays`")
        for name in (name for name in result if name not in outputs):
            self.refuse("expected", f"returns {name!r}, which is no output of `arrays`")
        for name, (shape, dtype) in outputs.items():
            self.require_array_and_bound(name, result[name], tuple(shape))
            self.require_tight_bound(name, result[name], np.dtype(dtype), wrong_results.largest_magnitude(inputs))

    def require_tight_bound(self, name: str, pair: tuple[Any, Any], dtype: np.dtype, magnitude: float) -> None:
        """Refuse an expected array whose bound would let a wrong result pass."""
        exact, bound = map(np.asarray, pair)
        error, description = wrong_results.error_to_refuse(exact, dtype, magnitude)
        if exact.size and (error <= bound).all():
            self.refuse(
                "expected",
                f"returns a bound of up to {bound.max():.3g} for {name!r}, whose largest value is "
                f"{np.abs(exact).max():.3g}, so that {description} would pass. {wrong_results.ADVICE}",
            )

    def require_array_and_bound(self, name: str, pair: Any, shape: tuple[int, ...]) -> None:
        """Check the expected array of an output, and the bound of its error."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            self.refuse("expected", f"returns {short_text(pair)} for {name!r}: it must return `(array, bound)`")
        array, bound = map(np.asarray, pair)
        if array.shape != shape:
            self.refuse("expected", f"returns an array of the shape {array.shape} for {name!r}, which has {shape}")
        if array.dtype.kind != "f" or array.dtype.itemsize < 8:
            self.refuse("expected", f"returns an array of {array.dtype} for {name!r}: compute it in float64")
        if bound.shape not in ((), shape) or bound.dtype.kind not in "fiu":
            self.refuse(
                "expected",
                f"returns a bound of {short_text(pair[1])} for {name!r}: it must be a number or an array of {shape}",
            )
        for what, values in (("array", array), ("bound", bound)):
            if not (is_finite := np.isfinite(values)).all():
                value = "NaN" if np.isnan(values).any() else "infinity"
                self.refuse("expected", f"returns {value} in the {what} for {name!r}, in {count_in_words(~is_finite)}")
        if (bound < 0).any():
            self.refuse(
                "expected",
                f"returns a bound of {bound.min():.3g} for {name!r}, negative in {count_in_words(bound < 0)}: "
                "take absolute values",
            )


def count_in_words(invalid: np.ndarray) -> str:
    """How many elements are marked as invalid, in words."""
    return f"{int(invalid.sum())} of {pluralize(invalid.size, 'element')}"
