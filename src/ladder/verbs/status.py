"""Print which cases of the last run are done, running, failed or left out, and why."""

from ladder.catalogue import workloads
from ladder.planning import configuration, places, plan, status


def add_arguments(parser):
    parser.add_argument(
        "--configfile", action="append", default=[], help="of this configuration on this machine; as for `list`"
    )


def run(options):
    if options.configfile:
        config = configuration.load(["config/config.yaml", *options.configfile])
        workloads.look_in(config["variant_folders"])
        print(status.report(status.cases_of(plan.plan(config, places.here(config)))))
    else:
        run = status.read()
        print(status.report(run["cases"], run))
