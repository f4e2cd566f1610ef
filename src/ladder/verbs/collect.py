"""Write the tables of experiments from records and published measurements."""

from pathlib import Path

from ladder.store import collect
from ladder.store.published_tables import PublishedTables
from ladder.verbs.arguments import read_plan


def add_arguments(parser):
    parser.add_argument("plans", nargs="+", metavar="PLAN", help="an experiment's plan (JSON)")
    parser.add_argument("--published", action="append", default=[], help="folder of published measurements")
    parser.add_argument("--out", required=True, help="parent of the folders of tables, one for each experiment")


def run(options):
    published = PublishedTables(options.published)
    for plan in map(read_plan, options.plans):
        collect.collect(plan, Path(options.out) / plan["experiment"], published)
