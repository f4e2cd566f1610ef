"""Measure two cases side by side: is A faster or slower than B, equal to it within some per cent, or undecided?"""

import sys

from ladder.errors import LadderError
from ladder.harness import case_arguments, comparison
from ladder.harness.progress import Progress
from ladder.records.files import require_writable
from ladder.verbs import stored_comparison
from ladder.verbs.arguments import (
    INTERRUPTED,
    add_json_option,
    at_least_one,
    at_least_two,
    data_paths,
    number_above,
    print_json,
)

EXAMPLES = """\
  ladder compare gemm/tiled/form=nn,m=512,n=512,k=512,dtype=float64,source=random,seed=1,cache=cold,threads=1 \\
                 gemm/blas/form=nn,m=512,n=512,k=512,dtype=float64,source=random,seed=1,cache=cold,threads=1
  ladder compare gemm/tiled gemm/blas m=512 n=512 k=512
`ladder run` ranks two or more, and sweeps tunings."""
# This verb times cases, and holds the machine's lock itself while it does.
TIMES_CASES = True


def add_arguments(parser):
    parser.add_argument("a", help="workload/variant/slug, or workload/variant with sizes and tunings after b")
    parser.add_argument("b", help="the other case, likewise")
    stored_comparison.add_arguments(parser)
    parser.add_argument("--samples", type=at_least_one, default=10, help="samples per process (default: 10)")
    parser.add_argument(
        "--detect",
        type=number_above(0),
        default=0.05,
        help="relative difference to be detectable at the end (default: 0.05)",
    )
    parser.add_argument(
        "--max-pairs", type=at_least_two, default=30, help="maximum number of pairs of processes (default: 30)"
    )
    parser.add_argument(
        "--cap",
        type=number_above(0),
        default=600,
        help="maximum seconds, except for the first two pairs (default: 600)",
    )
    parser.add_argument("--paired", action="store_true", help="compare pair by pair, for a machine that drifts")
    parser.add_argument("--data", default="results/data", help="folder of the data sets")
    parser.add_argument("--reference", help="file of the reference of both cases, if they need one")
    add_json_option(parser)


def run(options):
    if options.json not in (None, "-"):
        require_writable(options.json)
    if options.stored:
        stored_comparison.run(options, options.conditions, options.machine)
        return
    if options.machine:
        raise LadderError("--machine selects stored samples: add --stored.")
    cases = cases_to_measure(options.a, options.b, options.conditions)
    result = comparison.compare_cases(
        *cases,
        samples=options.samples,
        max_pairs=options.max_pairs,
        detect=options.detect,
        cap=options.cap,
        paired=options.paired,
        data=data_paths(options.data, *cases),
        reference=options.reference,
        progress=Progress(),
    )
    if options.json != "-":
        print(comparison.report(result))
    if options.json:
        print_json(options, {"results": [comparison.document(result)]})
    if result.was_interrupted:
        sys.exit(INTERRUPTED)


def cases_to_measure(a, b, pairs):
    """The cases of two keys, or of variants with pairs name=value as `ladder run` has them. Raises LadderError."""
    if not pairs and all(key.count("/") == 2 for key in (a, b)):
        return comparison.parse_key(a), comparison.parse_key(b)
    words = [a, b, *pairs]
    if a == b:  # a case may be compared with itself
        words = words[1:]
    cases = case_arguments.cases_of(words)
    return cases[0], cases[-1]
