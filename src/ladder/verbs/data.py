"""Write a data set as four IDX files."""


def add_arguments(parser):
    parser.add_argument("name", choices=["digits", "mnist"])
    parser.add_argument("--out", required=True)
    parser.add_argument("--mirror", action="append", default=[], help="URL or folder, tried in the order given")


def run(options):
    # Imported separately: one takes long to import image resampling, the other to import downloading.
    if options.name == "digits":
        from ladder.data import digits

        digits.write(options.out)
    else:
        from ladder.data import mnist

        mnist.write(options.out, options.mirror)
