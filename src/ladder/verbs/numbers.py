"""Write the numbers of the study (LaTeX), and render the paper's texts from templates."""

from ladder.planning import configuration
from ladder.records.files import write_atomically
from ladder.report import latex, numbers, texts
from ladder.store import study
from ladder.verbs.arguments import add_study_arguments, number_at_least, parse_object


def add_arguments(parser):
    add_study_arguments(parser)
    parser.add_argument("--protocol", default="{}", help="JSON of the protocol's keys that differ from the defaults")
    parser.add_argument(
        "--margin", type=number_at_least(1), required=True, help="factor by which a sample may beat a ceiling"
    )
    parser.add_argument("--template", action="append", default=[], help="template of a text; may be repeated")
    parser.add_argument("--texts", help="folder for the rendered texts of the paper and of all chapters")


def run(options):
    results = study.load(options.folders, options.machine, options.description, options.roofs)
    protocol = configuration.protocol(parse_object(options.protocol, "--protocol"))
    values = numbers.numbers(results, protocol, options.margin)
    latex.write(options.out, numbers.text(values))
    if options.texts:
        for name, text in texts.render(results, values, options.template).items():
            write_atomically(f"{options.texts}/{name}", text)
