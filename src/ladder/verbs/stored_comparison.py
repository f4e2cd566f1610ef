"""What `ladder compare --stored` does: the verdicts of stored samples on two cases. It is no verb of its own."""

from dataclasses import replace

from ladder.errors import LadderError
from ladder.report import comparison_text, stored_verdicts
from ladder.store import results
from ladder.verbs.arguments import parse_filters, print_json


def add_arguments(parser):
    parser.add_argument(
        "conditions",
        nargs="*",
        metavar="KEY=VALUE",
        help="sizes and tunings of both cases, if these are workload/variant",
    )
    parser.add_argument(
        "--stored",
        action="store_true",
        help="compare published samples and records instead",
    )
    parser.add_argument(
        "--machine", action="append", default=[], help="with --stored: the label of a machine; all by default"
    )


def run(options, conditions, machines):
    """Print the verdicts of stored samples, or write them as JSON. Raises LadderError if nothing can be compared."""
    a, b = map(stored_verdicts.parse_side, (options.a, options.b))
    if a.workload != b.workload:
        raise LadderError(f"A is a case of {a.workload} and B of {b.workload}: only cases of one system are compared.")
    stored = results.load(a.workload, machines)
    names = results.parameter_names(stored.values())
    for side in (a, b):
        parse_filters([f"{name}={value}" for name, value in side.conditions.items()], names, a.workload)
    shared = parse_filters(conditions, names, a.workload)
    sides = [replace(side, shared=shared) for side in (a, b)]
    verdicts, across = stored_verdicts.compare(stored, *sides, bool(machines))
    if options.json:
        print_json(options, comparison_text.document(verdicts, across))
    if options.json != "-":
        print(*comparison_text.lines(verdicts, across), sep="\n")
