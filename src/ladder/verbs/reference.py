"""Compute a reference, with which the results of several variants are compared."""

from ladder.catalogue import datasets, workloads
from ladder.devices import host
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.harness.preconditions import write_reference
from ladder.records.case import Case


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("sizes", help="the sizes that it depends on, as in a case")
    parser.add_argument("--data", help="path of the data that it is computed from")
    parser.add_argument("--out", required=True)


def run(options):
    workload = workloads.load(options.workload)
    stated_sizes = Case.parse(options.workload, "reference", options.sizes + ",cache=cold").sizes
    # `reference_sizes` takes complete sizes, so required ones that aren't stated get 1; a 1 on which the reference
    # depends is refused below.
    sizes = workload.reference_sizes(workloads.complete_with(options.workload, stated_sizes, 1))
    if sizes is None:
        raise LadderError(f"{options.workload} needs no reference: its results are checked inside the job.")
    for name in sizes:
        if name not in stated_sizes and isinstance(workload.SIZES[name], type):
            raise LadderError(f"{options.workload} needs a value for its size {name!r}.")
    if workload.data_set(sizes) and not options.data:
        raise LadderError(f"The reference of {options.workload} is computed from data: name their path with --data.")
    data = datasets.load(workload, options.data) if options.data else None
    environment.enter(environment.of_verb(len(host.AFFINITY)))  # restarts this process, if its environment differs
    arrays = workload.reference.compute(sizes, data)
    write_reference(options.out, options.workload, sizes, arrays)
