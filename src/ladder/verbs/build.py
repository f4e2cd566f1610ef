"""Compile the source of a variant, in CUDA to a binary or in C to a shared object, with a report beside it."""

from ladder.build import libraries, report


def add_arguments(parser):
    parser.add_argument("target", help="a GPU architecture, as in sm_90, or host")
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("constants", help="as in dtype=float64,block=16, or dtype=float64,flags=O2")


def run(options):
    source = options.workload, options.variant, options.constants
    is_for_host = options.target == "host"
    print(libraries.ensure(*source).with_suffix(".json") if is_for_host else report.write(options.target, *source))
