"""Write a data set as four IDX files."""


def add_arguments(parser):
    parser.add_argument("name", choices=["digits", "mnist"])
    parser.add_argument("--out", required=True)
    parser.add_argument("--mirror", action="append", default=[], help="URL or folder of a mirror, tried in this order")


def run(options):
    # Imported separately: `digits` imports image resampling and `mnist` downloading, and both take long.
    if options.name == "digits":
        from ladder.data import digits

        digits.write(options.out)
    else:
        from ladder.data import mnist

        mnist.write(options.out, options.mirror)
