"""Measure two cases side by side: is A faster or slower than B, equal to it within some per cent, or undecided?"""

import sys

from ladder.harness import comparison
from ladder.harness.progress import Progress
from ladder.records.files import require_writable
from ladder.verbs import stored_comparison
from ladder.verbs.arguments import INTERRUPTED, above, add_json, at_least_one, at_least_two, data_paths, print_json

EXAMPLES = """\
  ladder compare gemm/tiled/form=nn,m=512,n=512,k=512,dtype=float64,source=random,seed=1,cache=cold,threads=1 \\
                 gemm/blas/form=nn,m=512,n=512,k=512,dtype=float64,source=random,seed=1,cache=cold,threads=1
`ladder run` does the same with words in place of whole keys."""
# This verb times cases, and holds the machine's lock itself while it does.
TIMES = True


def add_arguments(parser):
    parser.add_argument("a", help="workload/variant/slug")
    parser.add_argument("b", help="workload/variant/slug")
    stored_comparison.add_arguments(parser)
    parser.add_argument("--samples", type=at_least_one, default=10, help="samples per process (default: 10)")
    parser.add_argument(
        "--detect", type=above(0), default=0.05, help="relative difference to be detectable at the end (default: 0.05)"
    )
    parser.add_argument(
        "--max-pairs", type=at_least_two, default=30, help="maximum number of pairs of processes (default: 30)"
    )
    parser.add_argument(
        "--cap", type=above(0), default=600, help="maximum seconds, except for the first two pairs (default: 600)"
    )
    parser.add_argument("--paired", action="store_true", help="compare pair by pair, for a machine that drifts")
    parser.add_argument("--data", default="results/data", help="folder of the data sets")
    parser.add_argument("--reference", help="file of the reference of both cases, if they need one")
    add_json(parser)


def run(options):
    if options.json not in (None, "-"):
        require_writable(options.json)
    if options.stored:
        stored_comparison.run(options, options.conditions, options.machine)
        return
    stored_comparison.refuse(options.conditions, options.machine)
    cases = comparison.parse_key(options.a), comparison.parse_key(options.b)
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
