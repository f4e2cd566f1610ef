"""Build an artefact of a workload, such as a trained network: a file that its cases read or its figures show."""

from ladder.catalogue import datasets, published
from ladder.devices import host
from ladder.errors import LadderError
from ladder.harness import environment


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("name", help="a file of the workload's ARTEFACTS")
    parser.add_argument("--data", help="path of the data that it is built from")
    parser.add_argument("--out", required=True)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--unpack", action="store_true", help="unpack the published artefact instead of building it")
    group.add_argument("--publish", action="store_true", help=f"copy it to {published.FOLDER}, to be committed")


def run(options):
    datasets.require_artefact(options.workload, options.name)
    if options.unpack:
        published.unpack(options.workload, options.name, options.out)
        return
    source = datasets.artefacts(options.workload)[options.name]
    if source and options.data is None:
        raise LadderError(f"{options.name} is built from {source}: name its path with --data.")
    environment.enter(environment.of_verb(len(host.AFFINITY)))  # restarts this process, if its environment differs
    datasets.make(options.workload, options.name, options.out, options.data)
    if options.publish:
        published.publish(options.workload, options.name, options.out)
