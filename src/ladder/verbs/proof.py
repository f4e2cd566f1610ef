"""Proofread a typeset document: say what its log and its pages show to be wrong with the layout."""

from ladder.errors import LadderError
from ladder.report import proof
from ladder.verbs.arguments import at_least_one


def add_arguments(parser):
    parser.add_argument("folder", help="where it was typeset, such as results/paper")
    parser.add_argument("--pages", type=at_least_one, help="how many pages it may have")


def run(options):
    if found := proof.faults(options.folder, options.pages):
        raise LadderError(" ".join(found))
    print(f"{options.folder}: no fault was found.")
