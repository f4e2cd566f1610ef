"""Compile a variant's source, CUDA to a binary or C to a shared object, and write a report beside the result."""

from ladder.build import libraries, report


def add_arguments(parser):
    parser.add_argument("target", help="a GPU architecture such as sm_90, or host")
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("constants", help="constants of the source, as in dtype=float64,block=16")


def run(options):
    source = options.workload, options.variant, options.constants
    is_for_host = options.target == "host"
    print(libraries.ensure(*source).with_suffix(".json") if is_for_host else report.write(options.target, *source))
