"""Print the cases of a configuration: what would run, what is left out and why."""

from ladder.catalogue import workloads
from ladder.planning import configuration, places, plan
from ladder.verbs.arguments import at_least_one


def add_arguments(parser):
    parser.add_argument(
        "--configfile", action="append", default=[], help="laid over config/config.yaml; may be repeated"
    )
    parser.add_argument("--cores", type=at_least_one, help="plan for this number of cores instead of this machine's")
    parser.add_argument("--gpus", type=int, help="plan for this number of GPUs instead of this machine's")


def run(options):
    config = configuration.load(["config/config.yaml", *options.configfile])
    workloads.look_in(config["variant_folders"])
    instead = {name: getattr(options, name) for name in ("cores", "gpus") if getattr(options, name) is not None}
    found = places.here(config | instead)
    planned = plan.plan(config, found)
    for one in planned:
        print(f"{one.experiment}\t{one.case.key}\t{'left out: ' + one.left_out if one.left_out else 'runs'}")
    runs = {one.case.key for one in planned if not one.left_out}
    left = {one.case.key for one in planned if one.left_out}
    print(f"{len(runs)} cases run on {found['cpu'].cores} cores, {len(left)} are left out.")
