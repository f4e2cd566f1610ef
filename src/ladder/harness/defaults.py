"""What a workload has that its module doesn't define; docs/contracts.md says what each name means.

`ladder.catalogue.workloads.load` fills these names in, and the functions get the workload's module as their first
argument. A default is part of the fingerprint of the cases that use it (`ladder.catalogue.sources`).
"""

from ladder.data import dataset
from ladder.errors import LadderError
from ladder.harness.validation import compare

STATEFUL = False
CURVE = ()
FACTS = ()
GENERATED = ()


def refuse(workload, sizes):
    """None: all sizes make sense."""
    return None


def data_set(workload, sizes):
    """None: the inputs come from the seed."""
    return None


def load_data(workload, path):
    """Four IDX files."""
    return dataset.load(path)


def reference_sizes(workload, sizes):
    """None: the reference is computed inside the job."""
    return None


def rounds(workload, sizes):
    """Two: the second has other inputs, so that a variant that returns cached results is detected."""
    return 2


def check(workload, sizes, inputs, outputs, round, data, reference, precision):
    """Compare every element of every output with what the workload says to be expected.

    Raises LadderError for an output of which it says nothing.
    """
    expected = workload.expected(sizes, inputs, precision)
    if missing := sorted(set(outputs) - set(expected)):
        raise LadderError(f"`expected` of {workload.__name__} lacks the output {missing[0]!r}: it needs all of them.")
    return [compare(name, array, *expected[name]) for name, array in outputs.items()], None
