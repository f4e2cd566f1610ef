"""Write the ceilings of all machines (JSON): from ceiling experiments or, if published, from all of their cases."""

from ladder.store import PUBLISHED, stored, study
from ladder.verbs.arguments import write_json


def add_arguments(parser):
    parser.add_argument("folders", nargs="*", help="folders of the tables of ceiling experiments")
    parser.add_argument("--published", action="append", default=[], help="folder of published measurements")
    parser.add_argument("--out", required=True)


def run(options):
    results = study.load(options.folders, None)
    local = {name: results.of(name).ceilings for name in results.machines() if not name.endswith(PUBLISHED)}
    write_json(options.out, local | dict(map(published_ceilings, options.published)))


def published_ceilings(folder):
    """A published machine's name in the tables, and its ceilings over all its cases."""
    samples = stored.published(folder, "samples")
    name = samples["machine"].iloc[0]
    return name + PUBLISHED, study.Study({"all": {"samples": samples}}, name).ceilings
