"""A check that processes ran under the same conditions, `system` in a record; only then are their times comparable."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ladder.errors import LadderError

# The prefixes of conditions that libraries determine: their kernels, vector units and optimisation level.
LIBRARY_PREFIXES = ("blas/", "numpy/", "numba/", "torch/")


def differences(conditions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The facts that differ between processes' conditions, each {fact: value}: a text for each, with its values."""
    for fact in sorted({fact for process in conditions for fact in process}):
        values = dict.fromkeys(str(process.get(fact, "not known")) for process in conditions)  # without duplicates
        if len(values) > 1:
            yield f"{fact} ({' and '.join(values)})"


def require_same(results: Sequence[Mapping[str, Any]], processes: str) -> None:
    """Refuse results of processes that ran under different conditions; the message calls them `processes`."""
    if facts := list(differences([result["system"] for result in results if "system" in result])):
        raise LadderError(
            f"{processes} ran under different conditions and can't be pooled: they differ in {', '.join(facts)}. "
            "Don't change the machine's settings and libraries during a measurement, and measure again."
        )


def shared_conditions(results: Sequence[Mapping[str, Any]], with_libraries: bool = True) -> list[dict[str, Any]]:
    """Results reduced to the conditions that all of them report: two variants needn't load the same libraries."""
    conditions = [result["system"] for result in results if "system" in result]
    facts = set.intersection(*map(set, conditions)) if conditions else set()
    facts = {fact for fact in facts if with_libraries or not fact.startswith(LIBRARY_PREFIXES)}
    return [{"system": {fact: process[fact] for fact in facts}} for process in conditions]
