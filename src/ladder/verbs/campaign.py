"""Begin a campaign: note its commit, host and GPUs."""

from ladder.machine import description, software
from ladder.records import campaigns
from ladder.verbs.arguments import parse_object


def add_arguments(parser):
    parser.add_argument("name")
    parser.add_argument("about", help="JSON of the machine's label, the commit, the host and its GPUs")


def run(options):
    about = parse_object(options.about, "about")
    campaigns.begin(options.name, about | {"software": software.versions(), "description": description.describe()})
