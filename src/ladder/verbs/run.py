"""Time and check variants side by side, and rank them; add sizes and tunings as name=value, the rest is filled in."""

import contextlib
import sys

from ladder.records.files import require_writable
from ladder.verbs.arguments import INTERRUPTED, add_json_option, at_least_one, at_least_two, number_above, print_json

EXAMPLES = """\
  ladder run gemm/tiled gemm/blas m=512 n=512 k=512 threads=1 --quick
  ladder run gemm/cuda_tiled m=4096 n=4096 k=4096 --sweep bm=32,64,128 --sweep bn=32,64,128"""
# This verb times cases, and holds the machine's lock itself while it does.
TIMES_CASES = True


def add_arguments(parser):
    parser.add_argument(
        "words", nargs="+", metavar="WORD", help="workload/variant (the first is the baseline), or name=value"
    )
    parser.add_argument("--quick", action="store_true", help="a verdict in seconds, less precise")
    parser.add_argument(
        "--sweep", action="append", default=[], metavar="NAME=V,V", help="values of a tuning to try; may be repeated"
    )
    parser.add_argument(
        "--budget",
        type=seconds,
        metavar="TIME",
        help="try the combinations of --sweep in random order for this time, such as 30 or 30s; measuring the fastest "
        "again takes up to --cap seconds more",
    )
    parser.add_argument("--samples", type=at_least_one, help="samples per process (default: 10; --quick: 5)")
    parser.add_argument(
        "--detect",
        type=number_above(0),
        help="relative difference to be detectable at the end (default: 0.05; --quick: 0.1)",
    )
    parser.add_argument(
        "--processes", type=at_least_two, help="maximum number of processes per case (default: 30; --quick: 6)"
    )
    parser.add_argument(
        "--cap",
        type=number_above(0),
        help="maximum seconds, except for the first three processes (default: 120; --quick: 12)",
    )
    parser.add_argument("--launcher", help="the command that starts MPI ranks, for example mpiexec")
    add_json_option(parser)


def run(options):
    print(f"Ranks {' '.join(options.words)}.", file=sys.stderr, flush=True)  # before the imports, which take long
    from ladder.harness import ranking_session
    from ladder.store import shares

    ceilings = shares.of_this_machine()
    if options.json not in (None, "-"):
        require_writable(options.json)
    # With JSON on standard output, the text goes to standard error.
    with contextlib.redirect_stdout(sys.stderr if options.json == "-" else sys.stdout):
        ranking, was_interrupted, document = ranking_session.run(
            options.words,
            options.sweep,
            limits(options),
            lambda *arguments: shares.rate(ceilings, *arguments),
            budget=options.budget,
            launcher=options.launcher,
            ceilings=ceilings if "margin" in ceilings else None,  # None: not measured on this machine
        )
    if options.json:
        print_json(options, document)
    if was_interrupted:
        sys.exit(INTERRUPTED)
    # Of a sweep, some combinations may be impossible.
    if ranking.warnings or (ranking.failures and not options.sweep):
        sys.exit(1)


def seconds(text):
    """A time such as 30 or 30s, for argparse."""
    return number_above(0)(text.removesuffix("s"))


def limits(options):
    """The limits of the measurement: those of --quick or the defaults; options that are given replace them."""
    from dataclasses import replace

    from ladder.harness.ranking import QUICK, Limits

    base = QUICK if options.quick else Limits()
    overrides = {"samples": options.samples, "detect": options.detect, "cap": options.cap}
    limits = replace(base, **{name: value for name, value in overrides.items() if value is not None})
    if options.processes:
        limits = replace(limits, most_processes=options.processes, processes=min(limits.processes, options.processes))
    return limits
