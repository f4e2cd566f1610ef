"""Write the page of results: one HTML file for a browser, without server or network."""

from ladder.errors import LadderError
from ladder.records.files import write_atomically
from ladder.store import study
from ladder.verbs.arguments import add_study_arguments


def add_arguments(parser):
    add_study_arguments(parser)
    parser.add_argument("--document", action="append", default=[], help="a link, as title=address; repeatable")
    parser.add_argument("--picture", action="append", default=[], help="a figure to show, as name=PNG; repeatable")


def run(options):
    from ladder.report import figures  # here, like the page, because the help need not wait for them
    from ladder.site import page

    results = study.load(options.folders, options.machine, options.description, options.roofs)
    pictures = [
        (constants["TITLE"], " ".join(constants["CAPTION"].split()).replace("`", ""), path)
        for name, path in map(name_and_value, options.picture)
        for constants in [figures.constants(name)]
    ]
    write_atomically(options.out, page.page(results, map(name_and_value, options.document), pictures))


def name_and_value(text):
    """Name and value of an option. Raises LadderError without a `=`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise LadderError(f"{text!r} must be name=value.")
    return name, value
