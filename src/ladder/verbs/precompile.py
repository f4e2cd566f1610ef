"""Compile the Numba functions of a case ahead of time, for all sizes and numbers of threads of its kind."""

import sys

from ladder.build import compilation
from ladder.catalogue import soundness
from ladder.errors import LadderError
from ladder.harness.precompile import precompile
from ladder.planning import configuration
from ladder.records.case import Case
from ladder.verbs.arguments import write_json


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("case")
    parser.add_argument("--out", required=True, help="file for a copy of the compilation's note (JSON)")


def run(options):
    case = Case.parse(options.workload, options.variant, options.case)
    soundness.require_sound(case)
    if not compilation.is_needed(case):
        raise LadderError(f"{case.workload}/{case.variant} has no function that Numba compiles.")
    note = precompile(case, configuration.protocol({}))
    if "failed" in note:
        print(f"ladder precompile: nothing was compiled ahead of time. {note['failed']}", file=sys.stderr)
    write_json(options.out, note)
