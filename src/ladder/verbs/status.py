"""Print which cases of the last run are done, running, failed or skipped, and why."""

from ladder.planning import plan, status, targets
from ladder.verbs.arguments import add_configuration_option, add_json_option, print_json, read_configuration


def add_arguments(parser):
    add_configuration_option(
        parser, "report on the shipped configuration overridden by these files, not on the last run"
    )
    add_json_option(parser)


def run(options):
    if options.configfile:
        config = read_configuration(options.configfile)
        cases, last_run = status.cases_of(plan.plan(config, targets.this_machine(config))), None
    else:
        last_run = status.read()
        cases = last_run["cases"]
    if options.json:
        print_json(options, status.document(cases, last_run))
    else:
        print(status.report(cases, last_run))
