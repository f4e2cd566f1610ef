"""Write this machine's measurements where they can be committed."""

from ladder.report.publish import publish
from ladder.verbs.arguments import read_plan


def add_arguments(parser):
    parser.add_argument("--machine", required=True, help="the label of the machine")
    parser.add_argument("plans", nargs="+", help="the experiments' plans (JSON)")
    parser.add_argument("--keep", action="store_true", help="keep what is published of cases without a record")
    parser.add_argument("--out", required=True)


def run(options):
    publish([read_plan(path) for path in options.plans], options.machine, options.out, options.keep)
