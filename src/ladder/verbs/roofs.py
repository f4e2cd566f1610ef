"""Write the ceilings of all machines (JSON): of published ones from all cases, of others from ceiling experiments."""

from ladder.store import PUBLISHED_SUFFIX, collect, study, table_files
from ladder.verbs.arguments import write_json


def add_arguments(parser):
    parser.add_argument("folders", nargs="*", help="folders of the tables of ceiling experiments")
    parser.add_argument("--published", action="append", default=[], help="folder of published measurements")
    parser.add_argument("--out", required=True)


def run(options):
    results = study.load(options.folders, None)
    local = {
        name: results.for_machine(name).ceilings for name in results.machines() if not name.endswith(PUBLISHED_SUFFIX)
    }
    write_json(options.out, local | published_ceilings(options.published))


def published_ceilings(folders):
    """The ceilings of every published machine over all its cases, by the machine's name in the tables."""
    frames = {}
    for samples in (table_files.read_published(folder, "samples") for folder in folders):
        frames.setdefault(samples["machine"].iloc[0], []).append(samples)
    tables = {name: {"all": {"samples": collect.concatenate(parts)}} for name, parts in frames.items()}
    return {name + PUBLISHED_SUFFIX: study.Study(table, name).ceilings for name, table in tables.items()}
