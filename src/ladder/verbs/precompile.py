"""Have Numba compile what a case needs, whatever its counts."""

import sys

from ladder.build import compilation
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.harness.precompile import precompile
from ladder.planning import configuration
from ladder.records.case import Case
from ladder.verbs.arguments import write_json


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("case")
    parser.add_argument("--out", required=True, help="file for a copy of the note that it is done (JSON)")


def run(options):
    case = Case.parse(options.workload, options.variant, options.case)
    workloads.require_sound(case)
    if not compilation.is_needed(case):
        raise LadderError(f"{case.workload}/{case.variant} has nothing that Numba compiles.")
    note = precompile(case, configuration.protocol({}))
    if "failed" in note:
        print(f"ladder precompile: nothing is compiled ahead. {note['failed']}", file=sys.stderr)
    write_json(options.out, note)
