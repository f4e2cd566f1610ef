"""Publish the measurements of machines: write them as files to be committed."""

from pathlib import Path

from ladder.errors import LadderError
from ladder.store import data_package, published_index
from ladder.store.publish import publish
from ladder.verbs.arguments import read_plan


def add_arguments(parser):
    parser.add_argument("--machine", required=True, action="append", help="the label of a machine")
    parser.add_argument("plans", nargs="+", help="the experiments' plans (JSON)")
    parser.add_argument("--keep", action="store_true", help="keep published measurements of cases without a record")
    folder = parser.add_mutually_exclusive_group(required=True)
    folder.add_argument("--out", help="the folder of a single machine")
    folder.add_argument("--into", help="the parent of the machines' folders")


def run(options):
    plans = [read_plan(path) for path in options.plans]
    if options.out and options.machine[1:]:
        raise LadderError("Several machines can't share the folder --out: name the parent of their folders by --into.")
    for machine in options.machine:
        publish(plans, machine, options.out or Path(options.into, machine), options.keep)
    if (parent := Path(options.into or Path(options.out).parent)) == data_package.PUBLISHED_FOLDER:
        published_index.write(parent)
