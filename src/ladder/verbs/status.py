"""Print which cases of the last run are done, running, failed or skipped, and why."""

from ladder.planning import plan, status, targets
from ladder.verbs.arguments import read_configuration


def add_arguments(parser):
    parser.add_argument(
        "--configfile", action="append", default=[], help="report on this configuration instead; as for `list`"
    )


def run(options):
    if options.configfile:
        config = read_configuration(options.configfile)
        print(status.report(status.cases_of(plan.plan(config, targets.this_machine(config)))))
    else:
        run = status.read()
        print(status.report(run["cases"], run))
