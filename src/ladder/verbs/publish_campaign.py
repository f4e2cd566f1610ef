"""Publish a completely measured campaign in a folder of its own."""

from ladder.store import campaigns, published_index
from ladder.verbs.arguments import number_at_least, parse_object, write_json


def add_arguments(parser):
    parser.add_argument("name")
    parser.add_argument("experiments", help="JSON: the names of each case's experiments, by the key of the case")
    parser.add_argument(
        "--margin", type=number_at_least(1), default=1.5, help="factor by which a sample may beat a ceiling"
    )
    parser.add_argument("--out", help="the note that it is published (JSON)")


def run(options):
    campaigns.publish(options.name, parse_object(options.experiments, "experiments"), options.margin)
    published_index.write()
    if options.out:
        write_json(options.out, {"campaign": options.name})
