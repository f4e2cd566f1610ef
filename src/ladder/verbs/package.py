"""Write what explains the published measurements, README.md and datapackage.json; complete their tables' headers."""

from ladder.store import data_package, published_index


def add_arguments(parser):
    parser.add_argument("--folder", default=data_package.PUBLISHED_FOLDER, help="the folder of published folders")


def run(options):
    published_index.write(options.folder)
