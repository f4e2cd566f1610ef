"""Measure one case and write its record."""

from pathlib import Path

from ladder.errors import pluralize
from ladder.harness.measure import Interruption, measure
from ladder.harness.progress import Progress, SilentProgress
from ladder.machine import description, processes, programs, variables
from ladder.planning import configuration
from ladder.records.case import Case
from ladder.records.files import require_writable
from ladder.verbs.arguments import add_measuring_arguments, data_paths, parse_object, read_ceilings, write_json

# This verb times a case, and holds the machine's lock itself while it does.
TIMES_CASES = True


def add_arguments(parser):
    parser.add_argument("workload")
    parser.add_argument("variant")
    parser.add_argument("case")
    parser.add_argument("--out", required=True)
    parser.add_argument("--machine", default="auto", help="the machine's label (default: made from its description)")
    parser.add_argument("--reference", help="file of the case's reference, if it needs one")
    parser.add_argument("--ceilings", help="the machine's measured ceilings (JSON)")
    add_measuring_arguments(parser)


def run(options):
    if options.launcher:
        programs.split_command(options.launcher, "--launcher")
    case = Case.parse(options.workload, options.variant, options.case)
    require_writable(options.out)
    ceilings = read_ceilings(options.ceilings) if options.ceilings else None
    data = data_paths(options.data, case)
    protocol = configuration.protocol(parse_object(options.protocol, "--protocol"))
    label = description.label() if options.machine == "auto" else options.machine
    is_job = bool(processes.job_variables)  # of a workflow, which keeps no parts of results
    try:
        measure(
            case,
            options.out,
            protocol,
            label,
            data,
            options.reference,
            ceilings,
            options.granted,
            options.launcher,
            variables.of_prelude() if options.prelude else {},
            progress=SilentProgress() if is_job else Progress(),
        )
    except Interruption as interruption:
        if is_job or not interruption.results:
            raise
        write_interrupted_results(case, interruption.results, Path(options.out).with_suffix(".interrupted.json"))


def write_interrupted_results(case, results, path):
    """Write the results of an interrupted measurement. Raises KeyboardInterrupt with a sentence on them."""
    write_json(path, {"case": case.key, "processes": results})
    count = pluralize(len(results), "process")
    raise KeyboardInterrupt(f"Interrupted, so no record was written. The results of {count} are in {path}.")
