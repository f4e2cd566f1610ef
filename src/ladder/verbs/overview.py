"""Draw the overview of all ladders as PDF, SVG and PNG."""

from ladder.store import study
from ladder.verbs.arguments import add_study_arguments


def add_arguments(parser):
    add_study_arguments(parser)


def run(options):
    from ladder.report import figures, overview  # here, like matplotlib, because the help need not wait for them
    from ladder.report.figures import theme

    results = study.load(options.folders, options.machine, options.description, options.roofs)
    with theme.context():
        figure = overview.draw(results)
        for suffix in figures.FORMATS:
            theme.save(figure, f"{options.out}.{suffix}")
