"""Train a network and save its weights; a restarted training gives the same bits as an uninterrupted one."""

import os
from dataclasses import replace

from ladder.catalogue import workloads
from ladder.harness import environment
from ladder.harness.leases import lease_devices
from ladder.records.case import Case
from ladder.records.files import require_writable
from ladder.verbs.arguments import data_paths, number_at_least


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("sizes", help="as in images=1000,epochs=20,rate=0.001; other sizes have defaults")
    parser.add_argument("--tuning", default="", help="as in threads=2,block=64")
    parser.add_argument(
        "--eps", type=number_at_least(0), default=0.0, help="stop when the error is at most this (default: never)"
    )
    parser.add_argument("--save", help="file (.npz) for weights and steps, written after every epoch")
    parser.add_argument("--restart", help="saved file of the same sizes, except `epochs`, the total number of epochs")
    parser.add_argument("--data", default="results/data", help="folder of the data sets")


def run(options):
    tuning = filter(None, options.tuning.split(","))
    # A slug requires its tunings sorted by name; on the command line they may be in any order.
    pairs = [options.sizes, "cache=cold", *sorted(tuning, key=lambda pair: pair.partition("=")[0])]
    case = Case.parse(options.workload, options.variant, ",".join(pairs))
    case = replace(case, sizes=workloads.complete(case.workload, case.sizes))
    if options.save:
        require_writable(options.save)
    data = data_paths(options.data, case)
    environment.enter(environment.of_worker(case))  # restarts this process, if its environment differs

    from ladder.harness import training  # here, because it loads the workload's libraries

    training.require_trainable(case)
    state = training.load(options.restart, case) if options.restart else None
    with lease_devices(case) as variables:
        os.environ.update(variables)
        for progress, error, seconds in training.train(case, data, state, options.eps):
            print(f"epoch {progress.epochs}: error {error:.6g}, {seconds:.3g} s", flush=True)
            if options.save:
                training.save(options.save, case, progress.state())
