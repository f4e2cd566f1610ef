"""Write a machine's ceilings from the records of its ceiling experiments (JSON)."""

from ladder.store import ceilings
from ladder.verbs.arguments import number_at_least, write_json


def add_arguments(parser):
    parser.add_argument("records", nargs="+")
    parser.add_argument(
        "--margin", type=number_at_least(1), required=True, help="factor by which a sample may beat a ceiling"
    )
    parser.add_argument("--out", required=True)


def run(options):
    write_json(options.out, ceilings.summarise(options.records, options.margin))
