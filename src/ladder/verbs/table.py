"""Join the samples of all experiments into one tidy table."""

from ladder.store import collect


def add_arguments(parser):
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--out", required=True)


def run(options):
    collect.join_samples(options.folders, options.out)
