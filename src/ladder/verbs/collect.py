"""Write an experiment's tables from records and published measurements."""

from ladder.report import collect
from ladder.verbs.arguments import read_plan


def add_arguments(parser):
    parser.add_argument("plan", help="the experiment's plan (JSON)")
    parser.add_argument("--published", action="append", default=[], help="folder of published measurements")
    parser.add_argument("--out", required=True, help="folder of the tables")


def run(options):
    collect.collect(read_plan(options.plan), options.out, options.published)
