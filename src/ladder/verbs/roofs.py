"""Write the ceilings of every machine, the most that was ever seen there (JSON)."""

from ladder.report import study
from ladder.verbs.arguments import write_json


def add_arguments(parser):
    parser.add_argument("folders", nargs="+", help="folders of the tables of experiments")
    parser.add_argument("--out", required=True)


def run(options):
    found = study.load(options.folders, None)
    write_json(options.out, {name: found.of(name).ceilings for name in found.machines()})
