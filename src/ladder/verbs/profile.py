"""Profile a case by Linux's perf or NVIDIA's ncu, and say in a sentence what bounds it."""

import sys

EXAMPLES = """\
  ladder profile gemm/tiled m=512 n=512 k=512
  ladder profile gemm/cuda_tiled m=4096 n=4096 k=4096"""
# This verb runs a case, and holds the machine's lock itself while it does.
TIMES_CASES = True


def add_arguments(parser):
    parser.add_argument("words", nargs="+", metavar="WORD", help="workload/variant, or name=value, as for `run`")


def run(options):
    print(f"Profiles {' '.join(options.words)}.", file=sys.stderr, flush=True)  # before the imports, which take long
    from ladder.errors import LadderError
    from ladder.harness import case_files, profiling
    from ladder.harness.case_arguments import cases_of
    from ladder.harness.progress import Progress

    case, *others = cases_of(options.words)
    if others:
        raise LadderError("Only one case can be profiled at a time.")
    print(*profiling.profile(case, case_files.provide(case, Progress().say)), sep="\n")
