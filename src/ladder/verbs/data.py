"""Write a data set as four IDX files."""

from ladder.data import datasets


def add_arguments(parser):
    parser.add_argument("name", choices=["digits", "mnist"])
    parser.add_argument("--out", required=True)
    parser.add_argument("--mirror", action="append", default=[], help="URL or folder, tried in the order given")


def run(options):
    if options.name == "digits":
        datasets.digits(options.out)
    else:
        datasets.mnist(options.out, options.mirror)
