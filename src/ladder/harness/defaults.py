"""The defaults of names that a workload's module doesn't define; docs/contracts.md explains each name.

`ladder.catalogue.workloads.load` adds them to the module; the functions get it as their first argument. A default is
part of the fingerprint of the cases that use it (`ladder.catalogue.sources`).
"""

from pathlib import Path
from types import ModuleType
from typing import Any

from ladder.data import dataset
from ladder.errors import LadderError
from ladder.harness.contract import Arrays, Round, Sizes
from ladder.harness.validation import compare

STATEFUL = False
CURVE = ()
FACTS = ()
GENERATED = ()


def refuse(workload: ModuleType, sizes: Sizes) -> str | None:
    """The reason why these sizes are invalid: None, since all are accepted."""
    return None


def data_set(workload: ModuleType, sizes: Sizes) -> str | None:
    """The name of the data set: None, since the inputs are drawn from the seed."""
    return None


def load_data(workload: ModuleType, path: Path) -> Any:
    """Read a data set, which consists of four IDX files."""
    return dataset.load(path)


def reference_sizes(workload: ModuleType, sizes: Sizes) -> Sizes | None:
    """The sizes on which a stored reference depends: None, since the job computes its reference itself."""
    return None


def rounds(workload: ModuleType, sizes: Sizes) -> int:
    """The number of checked rounds: two with different inputs, to detect a variant that returns cached results."""
    return 2


def check(
    workload: ModuleType,
    sizes: Sizes,
    inputs: Arrays,
    outputs: Arrays,
    round: int,
    data: Any,
    reference: Any,
    precision: str,
) -> Round:
    """Compare every element of every output with what the workload's `expected` returns.

    Raises LadderError for an output that `expected` lacks.
    """
    expected = workload.expected(sizes, inputs, precision)
    if missing := sorted(set(outputs) - set(expected)):
        raise LadderError(
            f"`expected` of {workload.__name__} lacks the output {missing[0]!r}: it must return every output."
        )
    return [compare(name, array, *expected[name]) for name, array in outputs.items()], None
