"""Proofread a typeset document: report faults of its layout, found in its log and on its pages."""

from ladder.errors import LadderError
from ladder.report import proof
from ladder.verbs.arguments import at_least_one


def add_arguments(parser):
    parser.add_argument("folder", help="the folder where it was typeset, such as results/paper")
    parser.add_argument("--pages", type=at_least_one, help="the maximum number of pages")


def run(options):
    if faults := proof.faults(options.folder, options.pages):
        raise LadderError(" ".join(faults))
    print(f"{options.folder}: no fault was found.")
