"""Measure cases in turns, process by process, for a campaign."""

from pathlib import Path

from ladder.harness.comparison import parse_key
from ladder.harness.turns import measure_in_turns
from ladder.machine import programs, variables
from ladder.planning import configuration
from ladder.records import campaigns
from ladder.records.files import require_writable
from ladder.verbs.arguments import add_measuring_arguments, data_paths, parse_object, reference_path, write_json

# The verb itself holds the machine while it takes samples.
TIMES_CASES = True


def add_arguments(parser):
    parser.add_argument("cases", nargs="+", metavar="CASE", help="workload/variant/slug")
    parser.add_argument("--campaign", required=True)
    parser.add_argument("--machine", required=True)
    parser.add_argument("--out", required=True, help="the note that all were measured (JSON)")
    parser.add_argument("--references", default="results/references", help="folder of the references")
    add_measuring_arguments(parser)


def run(options):
    if options.launcher:
        programs.split_command(options.launcher, "--launcher")
    require_writable(options.out)
    cases = [parse_key(key) for key in options.cases]
    jobs = {case: (data_paths(options.data, case), reference_path(options.references, case)) for case in cases}
    measure_in_turns(
        jobs,
        configuration.protocol(parse_object(options.protocol, "--protocol")),
        options.campaign,
        options.machine,
        Path(campaigns.folder(options.campaign)),
        options.granted,
        options.launcher,
        variables.of_prelude() if options.prelude else {},
    )
    write_json(options.out, {"campaign": options.campaign, "cases": options.cases})
