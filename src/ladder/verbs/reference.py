"""Compute the reference of a training."""

from pathlib import Path

import numpy as np

from ladder.catalogue import datasets, workloads
from ladder.errors import LadderError
from ladder.records.case import Case


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("sizes", help="the sizes as in a case, without dtype and tuning")
    parser.add_argument("--data", required=True, help="the data of the training")
    parser.add_argument("--out", required=True)


def run(options):
    workload = workloads.load(options.workload)
    given = Case.parse(options.workload, "reference", options.sizes + ",cache=cold").sizes
    sizes = workload.reference_sizes(workloads.complete(options.workload, given))
    if sizes is None:
        raise LadderError(f"{options.workload} needs no reference beforehand: its results are checked inside the job.")
    found = workload.reference.compute(sizes, datasets.load(workload, options.data))
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part.npz")
    np.savez(part, **found)
    part.replace(out)
