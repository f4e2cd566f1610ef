"""Compile the CUDA source of a variant to a binary, with a report beside it."""

from ladder.build import report


def add_arguments(parser):
    parser.add_argument("architecture", help="as in sm_90")
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("constants", help="as in dtype=float64,block=16")


def run(options):
    print(report.write(options.architecture, options.workload, options.variant, options.constants))
