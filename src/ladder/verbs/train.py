"""Train a network, and keep its weights to go on later: the same bits as without the break."""

import os
from dataclasses import replace

from ladder.catalogue import workloads
from ladder.harness import environment
from ladder.harness.exclusive import leased
from ladder.records.case import Case
from ladder.records.files import require_writable
from ladder.verbs.arguments import data_paths, no_less_than


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("sizes", help="as in images=1000,epochs=20,rate=0.001; the others have defaults")
    parser.add_argument("--tuning", default="", help="as in threads=2,block=64")
    parser.add_argument(
        "--eps", type=no_less_than(0), default=0.0, help="stop when the error is at most this (default: never)"
    )
    parser.add_argument("--save", help="file (.npz) for weights and steps, written after every epoch")
    parser.add_argument("--restart", help="file to go on from, of the same sizes but for `epochs`, the epochs in all")
    parser.add_argument("--data", default="results/data", help="folder of the data sets")


def run(options):
    tuning = filter(None, options.tuning.split(","))
    # A case has its tunings sorted by name; who trains may write them in any order, as sizes.
    words = [options.sizes, "cache=cold", *sorted(tuning, key=lambda pair: pair.partition("=")[0])]
    case = Case.parse(options.workload, options.variant, ",".join(words))
    case = replace(case, sizes=workloads.complete(case.workload, case.sizes))
    if options.save:
        require_writable(options.save)
    data = data_paths(options.data, case)
    environment.enter(environment.of_worker(case))

    from ladder.harness import training  # which loads what the workload needs

    training.require_trainable(case)
    kept = training.load(options.restart, case) if options.restart else None
    with leased(case) as variables:
        os.environ.update(variables)
        for one, off, seconds in training.train(case, data, kept, options.eps):
            print(f"epoch {one.epochs}: error {off:.6g}, {seconds:.3g} s", flush=True)
            if options.save:
                training.save(options.save, case, one.kept())
