"""Make an artefact of a workload: a file that its cases read or its figures show."""

from ladder.catalogue import datasets


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("name", help="a file of the workload's ARTEFACTS")
    parser.add_argument("--data", help="what it's made from")
    parser.add_argument("--out", required=True)


def run(options):
    datasets.make(options.workload, options.name, options.out, options.data)
