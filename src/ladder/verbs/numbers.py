"""Write the numbers of the paper's sentences (LaTeX)."""

from ladder.planning import configuration
from ladder.report import latex, numbers, study
from ladder.verbs.arguments import add_study, no_less_than, parse_object


def add_arguments(parser):
    add_study(parser)
    parser.add_argument("--protocol", default="{}", help="JSON of the keys that differ from the defaults")
    parser.add_argument("--margin", type=no_less_than(1), required=True, help="by how much a sample may beat a ceiling")


def run(options):
    found = study.load(options.folders, options.machine, options.description, options.roofs)
    protocol = configuration.protocol(parse_object(options.protocol, "--protocol"))
    latex.write(options.out, numbers.text(numbers.numbers(found, protocol, options.margin)))
